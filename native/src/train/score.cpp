#include "train/score.h"

#include "core/error.h"
#include "kernels/gpu/reuse.h"

namespace atelier {

Scores score(
    const Model& model,
    const Bound& bound,
    const Rows& rows,
    const ScoreOptions& options,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled) {
  const ReuseInOrder in_order;
  Forward forward(
      rows,
      {.wanted = options.wanted,
       .temperature = options.temperature,
       .pad_token = model.config().pad_token},
      teacher);
  auto targets = rows.targets();
  Scores result;
  bool ends = false;
  size_t total = 0;
  for (auto count : targets) {
    total += count;
  }
  for (const auto& wanted : options.wanted) {
    bool by_row = wanted.name == "score";
    ends |= by_row;
    result[wanted.name].resize(by_row ? targets.size() : total);
  }
  std::vector<std::vector<int>> units;
  for (size_t i = 0; i < targets.size(); i++) {
    // Of one token alone there is a score, and nothing else.
    if (targets[i] > 0 || ends) {
      units.push_back({static_cast<int>(i)});
    }
  }
  for (const auto& micro : plan_batches(units, targets, options.micro_tokens, training_buckets())) {
    if (cancelled) {
      throw Error(ErrorCode::cancelled, "score: cancelled");
    }
    auto batch = forward.prepare(micro);
    auto made = forward.make(model, bound, batch);
    for (auto& [name, values] : result) {
      auto got = made.at(name);
      got.eval();
      for (size_t i = 0; i < got.size(); i++) {
        values[name == "score" ? micro.rows[i] : batch.place_T[i]] = got.data<float>()[i];
      }
    }
  }
  return result;
}

}  // namespace atelier
