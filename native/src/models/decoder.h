#pragma once

#include "models/parts/norm.h"
#include "models/parts/part.h"

#include <functional>

namespace atelier {

/** x + after(part(before(x))). */
struct Residual {
  RmsNorm before;
  std::shared_ptr<const Part> part;
  std::optional<RmsNorm> after = std::nullopt;
};

/** What a family makes its model of. */
struct DecoderSpec {
  ModelConfig config;
  std::vector<Rope> ropes;
  /** Of each layer, one after the other: attention, then an MLP. */
  std::vector<std::vector<Residual>> layers;
  RmsNorm final_norm;
  /** Embeddings are multiplied by it. */
  float embedding_scale = 1.0f;
  /** Model::chosen_experts. */
  int chosen_experts = 0;
  /** The name in checkpoints of a tensor whose name in transformers' modules is given; null: the same. */
  std::function<std::string(const std::string& name)> stored_name = nullptr;
};

/** The pre-norm decoder that Llama made common, of parts that each family chooses (transformers' names). */
class Decoder : public Model {
 public:
  explicit Decoder(DecoderSpec spec);

  std::vector<TensorSpec> tensors() const override;
  std::vector<LinearModule> linears() const override {
    return modules_;
  }
  int chosen_experts() const override {
    return spec_.chosen_experts;
  }
  RowNumbers row_numbers() const override;
  bool masks_separate() const override {
    return row_numbers().recurrent == 0;
  }
  std::string stored_name(const std::string& name) const override;
  std::set<std::string> buffers() const override;
  Params stack(const Params& checkpoint) const override;
  Params unstack(const Params& weights) const override;

  Pass begin(const mx::array& ids_BL, KvCache* cache, std::optional<mx::array> mask) const override;
  mx::array embed(const Params& weights, const mx::array& ids_BL) const override;
  mx::array layer(
      int index,
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Pass& pass) const override;
  mx::array final_norm(const Params& weights, const mx::array& x_BLD) const override;

 private:
  DecoderSpec spec_;
  std::vector<LinearModule> modules_;
};

/** `model.layers.<index>.` */
std::string layer_name(int index);

}  // namespace atelier
