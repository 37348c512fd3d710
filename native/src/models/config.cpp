#include "models/config.h"

#include "io/json.h"
#include "models/registry.h"

namespace atelier {

std::string config_json(const ModelConfig& c, const std::string& dtype) {
  const bool qwen3 = c.family == "qwen3";
  Json rope = {{"rope_theta", c.rope_theta}, {"rope_type", c.rope_llama3 ? "llama3" : "default"}};
  if (c.rope_llama3) {
    rope["factor"] = c.rope_llama3->factor;
    rope["low_freq_factor"] = c.rope_llama3->low_freq_factor;
    rope["high_freq_factor"] = c.rope_llama3->high_freq_factor;
    rope["original_max_position_embeddings"] = c.rope_llama3->original_context;
  }
  Json out = {
      {"architectures", {architecture_of(c.family, "config")}},
      {"attention_bias", false},
      {"dtype", dtype},
      {"head_dim", c.head_dim},
      {"hidden_act", "silu"},
      {"hidden_size", c.hidden},
      {"initializer_range", c.initializer_range},
      {"intermediate_size", c.intermediate},
      {"max_position_embeddings", c.context},
      {"model_type", c.family},
      {"num_attention_heads", c.heads},
      {"num_hidden_layers", c.layers},
      {"num_key_value_heads", c.kv_heads},
      {"rms_norm_eps", c.norm_epsilon},
      {"rope_parameters", rope},
      {"tie_word_embeddings", c.tied},
      {"vocab_size", c.vocabulary}};
  if (!qwen3) {
    out["mlp_bias"] = false;
  }
  return out.dump(2) + "\n";
}

}  // namespace atelier
