#pragma once

#include "io/peft.h"
#include "models/checkpoint.h"

namespace atelier {

/** A checkpoint with an adapter merged into it, read one tensor at a time in f32. */
class MergedCheckpoint {
 public:
  /** Without a folder the base alone. Refuses what load_adapter does. */
  MergedCheckpoint(const std::string& base, const std::optional<std::string>& adapter_dir);

  const Model& model() const {
    return *base_->model();
  }
  /** The head is the embedding: false too where the base ties them and the adapter has a head of its own. */
  bool tied() const;
  /** A reward model: the base is one, or the adapter makes it one. */
  bool scalar_head() const;
  /** By transformers' names. */
  const TensorShapes& shapes() const {
    return shapes_;
  }
  /** f32, finite, evaluated. */
  mx::array read(const std::string& name) const;

 private:
  /** What an adapted module adds to a tensor: to its rows from `at` on. */
  struct Addition {
    LinearModule module;
    /** Of a mixture, whose tensor holds one expert; absent: the tensor holds all that the module has. */
    std::optional<int> expert;
    /** The module's rows [from, to). */
    int from, to, at;
  };

  void find_additions();
  mx::array added(const Addition& addition, const mx::Shape& shape) const;

  std::unique_ptr<Checkpoint> base_;
  Adapter adapter_;
  TensorShapes shapes_;
  std::map<std::string, std::vector<Addition>> additions_;
};

}  // namespace atelier
