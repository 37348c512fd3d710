#include "models/gguf_names.h"

namespace atelier {
namespace {

struct Renamed {
  const char* gguf;
  const char* transformers;
};

const Renamed top[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};
const Renamed in_layer[] = {
    {"attn_norm.weight", "input_layernorm.weight"},
    {"ffn_norm.weight", "post_attention_layernorm.weight"},
    {"attn_q.weight", "self_attn.q_proj.weight"},
    {"attn_k.weight", "self_attn.k_proj.weight"},
    {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_output.weight", "self_attn.o_proj.weight"},
    {"attn_q_norm.weight", "self_attn.q_norm.weight"},
    {"attn_k_norm.weight", "self_attn.k_norm.weight"},
    {"ffn_gate.weight", "mlp.gate_proj.weight"},
    {"ffn_up.weight", "mlp.up_proj.weight"},
    {"ffn_down.weight", "mlp.down_proj.weight"},
};

}  // namespace

std::map<std::string, std::string> gguf_names(int layers) {
  std::map<std::string, std::string> out;
  for (const Renamed& r : top) {
    out.emplace(r.transformers, r.gguf);
  }
  for (int i = 0; i < layers; i++) {
    for (const Renamed& r : in_layer) {
      out.emplace(
          "model.layers." + std::to_string(i) + "." + r.transformers,
          "blk." + std::to_string(i) + "." + r.gguf);
    }
  }
  return out;
}

}  // namespace atelier
