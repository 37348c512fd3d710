#pragma once

#include "models/dense.h"
#include "models/parts/delta_net.h"

namespace atelier {

// What Qwen3-Next and Qwen3.5 share: layers of linear attention, and every so often one of full attention, gated and
// with rotary positions on a part of each head; norms multiplied by 1 + weight (transformers 5.24.0,
// modeling_qwen3_next.py, modeling_qwen3_5.py).

struct HybridConfig {
  DenseConfig dense;
  /** Of every layer of linear attention, but for what depends on its index. */
  DeltaNetOptions delta;
  /** Whether a layer is one of linear attention. */
  std::vector<bool> linear;
  Rope rope;
  bool bias;
};

/** `intermediate`: where the family's files have none. */
HybridConfig read_hybrid(
    const ConfigReader& reader,
    const std::string& family,
    std::optional<int> intermediate = std::nullopt);

/** The decoder whose layers have these MLPs, one each. */
DecoderSpec hybrid_decoder(
    const HybridConfig& config,
    const std::vector<std::shared_ptr<const Part>>& mlps);

/** Experts with softmax routing and a gated shared expert, as layer `layer` has them. */
std::shared_ptr<const Part> hybrid_experts(
    const ConfigReader& reader,
    const HybridConfig& config,
    int layer,
    bool normalise,
    ModuleKind stored);

/** Layers for predicting further tokens, which checkpoints carry along. */
LeftOut multi_token_prediction();

}  // namespace atelier
