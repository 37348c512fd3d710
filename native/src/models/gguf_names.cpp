#include "models/gguf_names.h"

namespace atelier {
namespace {

struct NamePair {
  const char* gguf;
  const char* transformers;
};

const NamePair top[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};
const NamePair in_layer[] = {
    {"attn_norm.weight", "input_layernorm.weight"},
    {"attn_q.weight", "self_attn.q_proj.weight"},
    {"attn_k.weight", "self_attn.k_proj.weight"},
    {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_q.bias", "self_attn.q_proj.bias"},
    {"attn_k.bias", "self_attn.k_proj.bias"},
    {"attn_v.bias", "self_attn.v_proj.bias"},
    {"attn_output.weight", "self_attn.o_proj.weight"},
    {"attn_q_norm.weight", "self_attn.q_norm.weight"},
    {"attn_k_norm.weight", "self_attn.k_norm.weight"},
    {"ffn_gate.weight", "mlp.gate_proj.weight"},
    {"ffn_up.weight", "mlp.up_proj.weight"},
    {"ffn_down.weight", "mlp.down_proj.weight"},
    {"ffn_gate_inp.weight", "mlp.gate.weight"},
};
const NamePair two_norms[] = {
    {"ffn_norm.weight", "post_attention_layernorm.weight"},
};
const NamePair four_norms[] = {
    {"post_attention_norm.weight", "post_attention_layernorm.weight"},
    {"ffn_norm.weight", "pre_feedforward_layernorm.weight"},
    {"post_ffw_norm.weight", "post_feedforward_layernorm.weight"},
};
const NamePair expert_names[] = {
    {"ffn_gate_exps.weight", "gate_proj.weight"},
    {"ffn_up_exps.weight", "up_proj.weight"},
    {"ffn_down_exps.weight", "down_proj.weight"},
};

}  // namespace

std::map<std::string, GgufName> gguf_names(const std::string& family, int layers, int experts) {
  std::map<std::string, GgufName> out;
  for (const NamePair& r : top) {
    out.emplace(r.transformers, GgufName{r.gguf});
  }
  for (int i = 0; i < layers; i++) {
    const std::string at = "model.layers." + std::to_string(i) + ".";
    const std::string blk = "blk." + std::to_string(i) + ".";
    auto add = [&](const auto& renamed) {
      for (const NamePair& r : renamed) {
        out.emplace(at + r.transformers, GgufName{blk + r.gguf});
      }
    };
    add(in_layer);
    if (family == "gemma3_text") {
      add(four_norms);
    } else {
      add(two_norms);
    }
    for (int e = 0; e < experts; e++) {
      for (const NamePair& r : expert_names) {
        out.emplace(
            at + "mlp.experts." + std::to_string(e) + "." + r.transformers,
            GgufName{blk + r.gguf, e});
      }
    }
  }
  return out;
}

std::string gguf_family(const std::string& architecture) {
  return architecture == "qwen3moe" ? "qwen3_moe"
         : architecture == "gemma3" ? "gemma3_text"
                                    : architecture;
}

std::string gguf_architecture(const std::string& family) {
  return family == "qwen3_moe"     ? "qwen3moe"
         : family == "gemma3_text" ? "gemma3"
         : family == "mistral"     ? "llama"
                                   : family;
}

bool rotates_neighbours(const std::string& family) {
  return family == "llama" || family == "mistral" || family == "smollm3";
}

bool stores_one_plus_norms(const std::string& family) {
  return family == "gemma3_text";
}

}  // namespace atelier
