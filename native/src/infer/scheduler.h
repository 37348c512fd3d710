#pragma once

#include "infer/generate.h"

#include <unordered_set>

namespace atelier {

/**
 * Decodes many rows together: rows that have finished leave the batch, waiting ones join it. What a row says
 * depends only on its prompt, the seed and its rollout id: not on its neighbours.
 */
class Scheduler {
 public:
  /** Throws invalid_argument, naming the field, where the request makes no sense for the model. */
  Scheduler(
      const Model& model,
      const Params& weights,
      const Params& lora,
      const GenerateRequest& request);

  /** Lets waiting rows in, then decodes one token of every row in the batch. */
  std::vector<NewToken> step();

  bool done() const {
    return finished_ == static_cast<int>(rows_.size());
  }
  int finished() const {
    return finished_;
  }
  /** All rows; unfinished ones are `cancelled`. */
  std::vector<GeneratedRow> take() {
    return std::move(rows_);
  }

 private:
  void admit(std::vector<NewToken>& out);
  int fitting(int free) const;
  mx::array uniforms() const;
  void draw(const mx::array& logits_BV, std::vector<NewToken>& out);
  void drop_finished();

  const Model& model_;
  const Params& weights_;
  const Params& lora_;
  const GenerateRequest& request_;
  std::unordered_set<int32_t> stop_;

  std::vector<GeneratedRow> rows_;
  int finished_ = 0;
  /** The first row that still waits. */
  int next_ = 0;

  /** The batch: row of each cache row, -1 where it has finished. */
  std::vector<int> batch_;
  KvCache cache_;
  /** int32 [B]: the tokens drawn last. */
  std::optional<mx::array> last_;
};

}  // namespace atelier
