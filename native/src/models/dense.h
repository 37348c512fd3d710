#pragma once

#include "models/config_reader.h"
#include "models/decoder.h"
#include "models/parts/attention.h"
#include "models/parts/mlp.h"

namespace atelier {

// The pieces of a Llama-like decoder by transformers' names (modeling_llama.py, 5.24.0), for families to change.

RmsNorm norm_of(const DenseConfig& config, const std::string& name, int size);
AttentionOptions attention_of(const DenseConfig& config, int layer);
MlpOptions mlp_of(const DenseConfig& config, int layer);

/** Attention, then an MLP, each behind its norm. */
std::vector<Residual> pre_norm_layer(
    const DenseConfig& config,
    int layer,
    std::shared_ptr<const Part> attention,
    std::shared_ptr<const Part> mlp);

/** A decoder without layers yet. */
DecoderSpec decoder_of(const DenseConfig& config, std::vector<Rope> ropes);

}  // namespace atelier
