// Shapes: B rows, V vocabulary, N logits that change.
#include "infer/history.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace atelier {
namespace {

// How often a token was said in the answer; 0: in the prompt only.
std::map<int32_t, int> counts(const History& row) {
  std::map<int32_t, int> times;
  for (int32_t id : *row.prompt) {
    times.emplace(id, 0);
  }
  for (int32_t id : *row.answer) {
    times[id]++;
  }
  return times;
}

// Tokens that would end a sequence of n that is there already.
std::vector<int32_t> repeats(const History& row, size_t n) {
  std::vector<int32_t> ids = *row.prompt;
  ids.insert(ids.end(), row.answer->begin(), row.answer->end());
  std::vector<int32_t> ends;
  if (ids.size() + 1 < n) {
    return ends;
  }
  const auto last = ids.end() - static_cast<std::ptrdiff_t>(n - 1);
  for (auto at = ids.begin(); at + static_cast<std::ptrdiff_t>(n - 1) < ids.end(); ++at) {
    const auto end = at + static_cast<std::ptrdiff_t>(n - 1);
    if (std::equal(last, ids.end(), at)) {
      ends.push_back(*end);
    }
  }
  return ends;
}

// A logit x becomes (x > 0 ? x / by : x * by) - off, or -inf. By place in the flat [B V].
struct Change {
  float by = 1, off = 0;
};
using Changes = std::map<int64_t, Change>;

void hide(Changes& changes, int64_t at) {
  changes[at].off = INFINITY;
}

Changes changes_of(
    const Penalties& p,
    const std::vector<History>& rows,
    const std::vector<int32_t>& stop_ids,
    int V) {
  Changes changes;
  for (size_t b = 0; b < rows.size(); b++) {
    const auto first = static_cast<int64_t>(b) * V;
    for (const auto& [id, times] : counts(rows[b])) {
      const float off = times > 0 ? p.frequency * static_cast<float>(times) + p.presence : 0;
      changes[first + id] = {p.repetition, off};
    }
    if (p.no_repeat_ngram > 0) {
      for (int32_t id : repeats(rows[b], p.no_repeat_ngram)) {
        hide(changes, first + id);
      }
    }
    if (static_cast<int>(rows[b].answer->size()) < p.min_new_tokens) {
      for (int32_t id : stop_ids) {
        if (id >= 0 && id < V) {
          hide(changes, first + id);
        }
      }
    }
  }
  return changes;
}

}  // namespace

mx::array penalised(
    const mx::array& logits_BV,
    const Penalties& p,
    const std::vector<History>& rows,
    const std::vector<int32_t>& stop_ids) {
  std::vector<int64_t> place;
  std::vector<float> by, off;
  for (const auto& [at, change] : changes_of(p, rows, stop_ids, logits_BV.shape(1))) {
    place.push_back(at);
    by.push_back(change.by);
    off.push_back(change.off);
  }
  const auto N = static_cast<int>(place.size());
  if (N == 0) {
    return logits_BV;
  }
  const mx::array place_N(place.begin(), {N}, mx::int64);
  const mx::array by_N(by.begin(), {N}, mx::float32), off_N(off.begin(), {N}, mx::float32);
  const auto flat = mx::flatten(logits_BV);
  const auto x = mx::take(flat, place_N);
  const auto changed = mx::where(mx::greater(x, mx::array(0.0f)), x / by_N, x * by_N) - off_N;
  return mx::reshape(mx::scatter(flat, place_N, mx::expand_dims(changed, 1), 0), logits_BV.shape());
}

}  // namespace atelier
