#include "train/rows.h"

#include "core/error.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace atelier {

std::vector<int32_t> Rows::targets() const {
  std::vector<int32_t> result(lengths.size());
  std::transform(lengths.begin(), lengths.end(), result.begin(), [](int32_t n) { return n - 1; });
  return result;
}

void Rows::check(const char* field, int vocabulary, int context) const {
  auto fail = [field](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, std::string(field) + what);
  };
  if (lengths.empty()) {
    fail(": no rows");
  }
  int64_t total = 0;
  for (size_t i = 0; i < lengths.size(); i++) {
    if (lengths[i] < 1 || lengths[i] > context) {
      fail(
          ".lengths[" + std::to_string(i) + "] is " + std::to_string(lengths[i]) +
          "; a row has 1 to " + std::to_string(context) + " tokens (the model's context)");
    }
    total += lengths[i];
  }
  if (total != static_cast<int64_t>(ids.size())) {
    fail(
        ".ids has " + std::to_string(ids.size()) + " entries but lengths add up to " +
        std::to_string(total));
  }
  for (size_t i = 0; i < ids.size(); i++) {
    if (ids[i] < 0 || ids[i] >= vocabulary) {
      fail(
          ".ids[" + std::to_string(i) + "] is " + std::to_string(ids[i]) + "; the vocabulary has " +
          std::to_string(vocabulary) + " tokens");
    }
  }
}

RowOffsets::RowOffsets(const Rows& rows) {
  int64_t tokens = 0, targets = 0;
  for (auto n : rows.lengths) {
    token.push_back(tokens);
    target.push_back(targets);
    tokens += n;
    targets += n - 1;
  }
}

namespace {

int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The step between bucket lengths that keeps to the allowed number of them.
int bucket_step(int longest, const Buckets& buckets) {
  return round_up((longest - 1) / buckets.shapes + 1, buckets.multiple);
}

}  // namespace

std::vector<MicroBatch> plan_batches(
    const std::vector<std::vector<int>>& units,
    const std::vector<int32_t>& targets,
    int max_tokens,
    const Buckets& buckets) {
  std::vector<int> longest(units.size());
  for (size_t u = 0; u < units.size(); u++) {
    for (int row : units[u]) {
      longest[u] = std::max(longest[u], std::max(1, targets[row]));
    }
  }
  std::vector<int> order(units.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
      order.begin(), order.end(), [&](int a, int b) { return longest[a] > longest[b]; });
  int step = units.empty() ? 1 : bucket_step(longest[order[0]], buckets);

  std::vector<MicroBatch> batches;
  for (int u : order) {
    int length = round_up(longest[u], step);
    bool fits =
        !batches.empty() && batches.back().length == length &&
        static_cast<int64_t>(batches.back().rows.size() + units[u].size()) * length <= max_tokens;
    // On the CPU (step 1) a shorter row joins a longer batch: fewer, fuller products beat less padding.
    if (!fits && !batches.empty() && step == 1) {
      fits = static_cast<int64_t>(batches.back().rows.size() + units[u].size()) *
                 batches.back().length <=
             max_tokens;
    }
    if (!fits) {
      batches.push_back({{}, length});
    }
    auto& rows = batches.back().rows;
    rows.insert(rows.end(), units[u].begin(), units[u].end());
  }
  return batches;
}

PaddedBatch pad(const Rows& rows, const RowOffsets& offsets, const MicroBatch& batch) {
  int B = static_cast<int>(batch.rows.size()), L = batch.length;
  std::vector<int32_t> ids(static_cast<size_t>(B) * L, 0), at, targets;
  std::vector<int64_t> place;
  for (int b = 0; b < B; b++) {
    int row = batch.rows[b];
    const int32_t* tokens = rows.ids.data() + offsets.token[row];
    int count = rows.lengths[row] - 1;
    std::copy(tokens, tokens + count, ids.begin() + static_cast<size_t>(b) * L);
    for (int t = 0; t < count; t++) {
      at.push_back(b * L + t);
      targets.push_back(tokens[t + 1]);
      place.push_back(offsets.target[row] + t);
    }
  }
  int T = static_cast<int>(at.size());
  return {
      mx::array(ids.begin(), {B, L}, mx::int32),
      mx::array(at.begin(), {T}, mx::int32),
      mx::array(targets.begin(), {T}, mx::int32),
      std::move(place)};
}

}  // namespace atelier
