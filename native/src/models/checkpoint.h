#pragma once

#include "models/check_tensors.h"
#include "models/quantisation.h"

#include <memory>

namespace atelier {

/**
 * The tensors of a folder with config.json and safetensors, or of one .gguf file: named as transformers names
 * its modules, checked against the configuration, read one at a time.
 */
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  /** Of the folder or file. */
  const std::string& path() const {
    return path_;
  }
  const std::shared_ptr<const Model>& model() const {
    return model_;
  }
  /** Every tensor, a quantised matrix under its `.weight` with the shape of its floats. */
  const TensorShapes& shapes() const {
    return shapes_;
  }
  /** Matrices in MLX's quantised form, by module name (without `.weight`). */
  const std::map<std::string, Quantisation>& quantised() const {
    return quantised_;
  }

  /** What it holds beside the model, for people ("the vision tower (model.visual.*)"); that is not read. */
  const std::vector<std::string>& left_out() const {
    return left_out_;
  }

  /** A tensor as floats, evaluated; NaN and infinity are refused. A quantised one is dequantised. */
  virtual mx::array read(const std::string& name, mx::Dtype dtype) const = 0;
  /** `.weight`, `.scales` and `.biases` of a quantised module as they are stored. */
  virtual Params read_quantised(const std::string& module, mx::Dtype dtype) const;

 protected:
  explicit Checkpoint(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::shared_ptr<const Model> model_;
  TensorShapes shapes_;
  std::map<std::string, Quantisation> quantised_;
  std::vector<std::string> left_out_;
};

/** Configuration and headers are read and checked, no weights. Throws invalid_file, unsupported_model, io. */
std::unique_ptr<Checkpoint> open_checkpoint(const std::string& path);

/** The two kinds that open_checkpoint chooses from. */
std::unique_ptr<Checkpoint> open_folder(const std::string& dir);
std::unique_ptr<Checkpoint> open_gguf(const std::string& file);

}  // namespace atelier
