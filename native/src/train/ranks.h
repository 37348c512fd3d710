#pragma once

#include "core/mlx.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace atelier {

/**
 * The engines that make a step together, each a process with a device of its own: the ranks. All get the same requests
 * in the same order, work on their shares of the rows, and end with the same bits. Here is all that goes between them.
 *
 * Every function but rank() and size() waits for all ranks, which have to call the same ones in the same order. They
 * throw where the connection is lost. One engine alone waits for nobody.
 */
class Ranks {
 public:
  /** Alone. */
  Ranks() = default;
  /** Meets the others through MLX's backend of that name, "nccl" or "ring", whose environment says who is where. */
  explicit Ranks(const std::string& backend);

  int rank() const;
  int size() const;

  /**
   * Runs what each rank does by itself. Where it throws on one it throws on all, so that none waits for another that has
   * given up: on that one what it threw, on the others `cancelled`.
   */
  void together(const std::function<void()>& body) const;
  /** Each rank's numbers, in the order of the ranks, to 48 bits. All have as many. */
  std::vector<std::vector<double>> gather(const std::vector<double>& values) const;
  /** Sums over the ranks, number by number. */
  std::vector<float> sum(const std::vector<float>& values) const;
  /** The same of f32 arrays, evaluated: small ones joined, one that is large by itself. */
  std::vector<mx::array> sum(std::vector<mx::array> arrays) const;

 private:
  std::optional<mx::distributed::Group> group_;
};

/**
 * The units (rows that have to stay together) of one rank, in their order: the largest goes first, each to the rank
 * with the fewest tokens so far. A function of its arguments alone.
 */
std::vector<std::vector<int>> share_of(
    const std::vector<std::vector<int>>& units,
    const std::vector<int32_t>& targets,
    int rank,
    int size);

}  // namespace atelier
