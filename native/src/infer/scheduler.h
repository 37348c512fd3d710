#pragma once

#include "infer/batch.h"
#include "infer/generate.h"

#include <deque>
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

  /** Lets waiting rows in, then decodes one token of every row in the batch; on a GPU it may say nothing yet. */
  std::vector<NewToken> step();

  /** Tokens that are drawn but not yet said; for those who stop before all is done. */
  std::vector<NewToken> rest();

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
  RowDraws draws() const;
  Said said() const;
  bool wants_more() const;
  void read(std::vector<NewToken>& out);
  void read_all(std::vector<NewToken>& out);
  void drop_finished(std::vector<NewToken>& out);
  std::vector<int32_t> unfinished() const;

  const Model& model_;
  const Params& weights_;
  const Params& lora_;
  const GenerateRequest& request_;
  std::unordered_set<int32_t> stop_;

  std::vector<GeneratedRow> rows_;
  int finished_ = 0;
  /** The first row that still waits. */
  int next_ = 0;

  /** Row of each row of the batch, -1 where it has finished. */
  std::vector<int> batch_;
  Batch decoding_;
  /** Draws that nobody has looked at yet, and the rows that they are of. */
  struct Drawn {
    std::vector<int> batch;
    Draw draw;
  };
  std::deque<Drawn> unread_;
};

}  // namespace atelier
