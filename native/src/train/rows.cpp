#include "train/rows.h"

#include "core/error.h"
#include "kernels/from_host.h"
#include "train/pack.h"

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
      batches.push_back({{}, length, {}});
    }
    auto& rows = batches.back().rows;
    rows.insert(rows.end(), units[u].begin(), units[u].end());
  }
  return batches;
}

std::vector<MicroBatch> plan_packed(
    const std::vector<std::vector<int>>& units,
    const std::vector<int32_t>& targets,
    int max_tokens,
    const Buckets& buckets,
    int line_tokens) {
  std::vector<std::vector<int>> packable, long_ones;
  std::vector<int> lengths;
  for (const auto& unit : units) {
    int tokens = 0;
    for (int row : unit) {
      tokens += targets[row];
    }
    const bool fits = tokens <= line_tokens;
    (fits ? packable : long_ones).push_back(unit);
    if (fits) {
      lengths.push_back(tokens);
    }
  }
  auto batches = plan_batches(long_ones, targets, max_tokens, buckets);
  const int lines = std::max(1, max_tokens / round_up(line_tokens, buckets.multiple));
  int in_batch = lines;
  for (const auto& line : best_fit_decreasing(lengths, line_tokens)) {
    if (in_batch == lines) {
      batches.push_back({});
      in_batch = 0;
    }
    auto& batch = batches.back();
    int tokens = 0;
    for (int unit : line) {
      tokens += lengths[unit];
      for (int row : packable[unit]) {
        batch.rows.push_back(row);
        batch.line.push_back(in_batch);
      }
    }
    batch.length = std::max(batch.length, round_up(std::max(1, tokens), buckets.multiple));
    in_batch++;
  }
  return batches;
}

PaddedBatch pad(const Rows& rows, const RowOffsets& offsets, const MicroBatch& batch) {
  const bool packed = !batch.line.empty();
  const int B = packed ? batch.line.back() + 1 : static_cast<int>(batch.rows.size());
  const int L = batch.length;
  std::vector<int32_t> ids(static_cast<size_t>(B) * L, 0), pieces(packed ? ids.size() : 0, -1);
  std::vector<int32_t> at, targets;
  std::vector<int32_t> target_of(ids.size(), -1);
  PaddedBatch result{mx::array(0), mx::array(0), mx::array(0), mx::array(0), {}, {}, std::nullopt};
  for (size_t k = 0; k < batch.rows.size(); k++) {
    const int row = batch.rows[k];
    const int32_t* tokens = rows.ids.data() + offsets.token[row];
    const int count = rows.lengths[row] - 1;
    int from = (packed ? batch.line[k] : static_cast<int>(k)) * L;
    if (packed && k > 0 && batch.line[k] == batch.line[k - 1]) {
      from = result.pieces.back().at + result.pieces.back().tokens;
    }
    result.pieces.push_back({row, from, count});
    std::copy(tokens, tokens + count, ids.begin() + from);
    if (packed) {
      std::fill_n(pieces.begin() + from, count, static_cast<int32_t>(k));
    }
    for (int t = 0; t < count; t++) {
      target_of[from + t] = static_cast<int32_t>(at.size());
      at.push_back(from + t);
      targets.push_back(tokens[t + 1]);
      result.place_T.push_back(offsets.target[row] + t);
    }
  }
  const int T = static_cast<int>(at.size());
  result.ids_BL = from_host(std::move(ids), {B, L});
  result.at_T = from_host(std::move(at), {T});
  result.target_N = from_host(std::move(target_of), {B * L});
  result.targets_T = from_host(std::move(targets), {T});
  if (packed) {
    result.piece_BL = from_host(std::move(pieces), {B, L});
  }
  return result;
}

}  // namespace atelier
