#include "train/score.h"

#include "core/error.h"

namespace atelier {

Scores score(
    const Model& model,
    const Bound& bound,
    const Rows& rows,
    const ScoreOptions& options,
    const std::atomic<bool>& cancelled) {
  RowOffsets offsets(rows);
  auto targets = rows.targets();
  std::vector<std::vector<int>> units;
  size_t total = 0;
  for (size_t i = 0; i < targets.size(); i++) {
    if (targets[i] > 0) {
      units.push_back({static_cast<int>(i)});
      total += targets[i];
    }
  }
  Scores result;
  result.logp.resize(total);
  result.entropy.resize(options.entropy ? total : 0);
  HeadOptions head;
  head.temperature = options.temperature;
  head.entropy = options.entropy;
  head.gradient = false;
  for (const auto& micro : plan_batches(units, targets, options.micro_tokens, training_buckets())) {
    if (cancelled) {
      throw Error(ErrorCode::cancelled, "score: cancelled");
    }
    auto batch = pad(rows, offsets, micro);
    auto stats = forward_stats(model, bound, batch, head);
    auto entropy = stats.entropy.value_or(stats.logp);
    mx::eval(stats.logp, entropy);
    for (size_t t = 0; t < batch.place_T.size(); t++) {
      result.logp[batch.place_T[t]] = stats.logp.data<float>()[t];
      if (options.entropy) {
        result.entropy[batch.place_T[t]] = entropy.data<float>()[t];
      }
    }
  }
  return result;
}

}  // namespace atelier
