#pragma once

#include "program/program.h"
#include "train/quantities.h"

#include <map>
#include <string>
#include <vector>

namespace atelier {

/** Numbers by name, as they came from the caller: [T], [S], [S/n] or one. */
using Numbers = std::map<std::string, std::vector<float>>;

/** Numbers as a program takes them: a scalar for shape "scalar", else one dimension, f32. */
mx::array number_array(const std::vector<float>& values, const std::string& shape);

/** What the whole step counts; groups [S], empty: all in one. Throws invalid_argument. */
program::Counts count_all(int trajectories, const std::vector<int32_t>& groups);

/** The program's view of one micro-batch: its slice of every input, and which target belongs to what. */
struct MicroInputs {
  program::Arrays arrays;
  program::Layout layout;
  /** int32 [S]: which of the micro-batch's rows ends each trajectory. */
  mx::array last_row_S;
};

/**
 * A loss program on one optimiser step's rows: how the rows are split so that what interacts stays together,
 * and each part's slice of the inputs.
 */
class Objective {
 public:
  /**
   * trajectories [N] (empty: each row its own), groups [S] (empty: all in one), skip [S] (empty: none).
   * Throws invalid_argument that names the field.
   */
  Objective(
      const std::string& program_json,
      const std::vector<int32_t>& targets,
      std::vector<int32_t> trajectories,
      const std::vector<int32_t>& groups,
      std::vector<uint8_t> skip,
      Numbers inputs);

  const program::Program& program() const {
    return program_;
  }
  /** Rows that have to stay together; those of skipped trajectories are in none. */
  std::vector<std::vector<int>> units() const;
  /** Engine quantities that the step needs, and those that prepass does. */
  std::vector<Wanted> wanted() const;
  std::vector<Wanted> prepass_wanted() const;
  /** [N] to [S]: the entry of each trajectory's last row. */
  std::vector<float> of_last_rows(const std::vector<float>& by_row) const;
  /** The whole step's numbers. `made` are prepass_wanted, in their shapes. */
  void prepass(const Numbers& made);
  MicroInputs slice(const MicroBatch& batch) const;
  /** Value of a micro-batch: `inputs` completed with the engine's quantities. Lazy, differentiable. */
  program::Value evaluate(const program::Arrays& inputs, const program::Layout& layout) const;

 private:
  program::Program program_;
  std::vector<int32_t> targets_;
  std::vector<int64_t> offsets_;
  std::vector<int32_t> trajectories_;
  std::vector<uint8_t> skip_;
  Numbers inputs_;
  program::Layout layout_;
  program::Counts counts_;
  std::vector<double> scalars_;
};

}  // namespace atelier
