// Keys: ggml's docs/gguf.md.
#include "models/gguf_config.h"

#include "core/error.h"
#include "core/text.h"
#include "models/gguf_names.h"
#include "models/registry.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace atelier {
namespace {

const std::set<std::string> known = {
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.layer_norm_rms_epsilon",
    "attention.value_length",
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scaling.factor",
    "rope.scaling.type",
    "tensor_data_layout",  // how llama.cpp's converter came by the file
    "vocab_size"};

// What one architecture has beside these.
const std::map<std::string, std::set<std::string>> known_of = {
    {"gemma3", {"attention.sliding_window"}},
    {"qwen3moe", {"expert_count", "expert_feed_forward_length", "expert_used_count"}}};

class Metadata {
 public:
  Metadata(const GgufHeader& header, std::string file) : header_(header), file_(std::move(file)) {}

  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(ErrorCode::unsupported_model, file_ + ": " + what + " is not supported");
  }
  [[noreturn]] void invalid(const std::string& rule) const {
    throw Error(ErrorCode::invalid_file, file_ + ": " + rule);
  }
  std::string text(const std::string& key, std::optional<std::string> otherwise = std::nullopt)
      const {
    const GgufValue* value = find(key);
    if (!value && otherwise) {
      return *otherwise;
    }
    const auto* text = value ? std::get_if<std::string>(&value->value) : nullptr;
    if (!text) {
      invalid("metadata " + quoted(key) + " must be a string");
    }
    return *text;
  }
  int count(const std::string& key, std::optional<int> otherwise = std::nullopt, uint64_t least = 1)
      const {
    const GgufValue* value = find(key);
    if (!value && otherwise) {
      return *otherwise;
    }
    std::optional<uint64_t> number;
    if (value && std::holds_alternative<uint64_t>(value->value)) {
      number = std::get<uint64_t>(value->value);
    } else if (
        value && std::holds_alternative<int64_t>(value->value) &&
        std::get<int64_t>(value->value) >= 0) {
      number = static_cast<uint64_t>(std::get<int64_t>(value->value));
    }
    if (!number || *number < least || *number > INT32_MAX) {
      invalid(
          "metadata " + quoted(key) + " must be a whole number from " + std::to_string(least) +
          " to 2^31 - 1");
    }
    return static_cast<int>(*number);
  }
  double number(const std::string& key, std::optional<double> otherwise = std::nullopt) const {
    const GgufValue* value = find(key);
    if (!value && otherwise) {
      return *otherwise;
    }
    const auto* number = value ? std::get_if<double>(&value->value) : nullptr;
    if (!number || !std::isfinite(*number)) {
      invalid("metadata " + quoted(key) + " must be a finite number");
    }
    return *number;
  }
  /** Of an architecture's own keys: what is not read here may change what the model computes. */
  void require_known(const std::string& architecture) const {
    const std::string prefix = architecture + ".";
    const auto own = known_of.find(architecture);
    for (const auto& [key, value] : header_.metadata) {
      const std::string rest = key.starts_with(prefix) ? key.substr(prefix.size()) : "";
      const bool is_own = own != known_of.end() && own->second.count(rest) > 0;
      if (!rest.empty() && !is_own && !known.count(rest)) {
        unsupported("metadata " + quoted(key));
      }
    }
  }

 private:
  const GgufValue* find(const std::string& key) const {
    auto found = header_.metadata.find(key);
    return found == header_.metadata.end() ? nullptr : &found->second;
  }

  const GgufHeader& header_;
  std::string file_;
};

Json rope_of(const Metadata& m, const std::string& a) {
  Json rope = {{"rope_theta", m.number(a + "rope.freq_base", 10000.0)}, {"rope_type", "default"}};
  const std::string type = m.text(a + "rope.scaling.type", "none");
  if (type == "linear") {
    rope["rope_type"] = type;
    rope["factor"] = m.number(a + "rope.scaling.factor");
  } else if (type != "none") {
    m.unsupported("rope scaling " + quoted(type));
  }
  return rope;
}

// What llama.cpp knows of Gemma 3 without being told (llama-model.cpp, LLM_ARCH_GEMMA3): every sixth layer sees
// everything, local layers rotate by 10,000 unscaled, and scores of the largest are scaled by another size.
void add_gemma3(const Metadata& m, const std::string& a, Json& config) {
  const int hidden = config["hidden_size"], heads = config["num_attention_heads"];
  const bool largest = config["num_hidden_layers"] == 62;
  config["query_pre_attn_scalar"] = largest ? Json(hidden / heads) : config["head_dim"];
  config["rope_parameters"] = {
      {"full_attention", config["rope_parameters"]},
      {"sliding_attention", {{"rope_theta", 10000.0}, {"rope_type", "default"}}}};
  config["sliding_window"] = m.count(a + "attention.sliding_window");
  config["sliding_window_pattern"] = 6;
}

void add_qwen3_moe(const Metadata& m, const std::string& a, Json& config) {
  config["moe_intermediate_size"] = m.count(a + "expert_feed_forward_length");
  config["norm_topk_prob"] = true;
  config["num_experts"] = m.count(a + "expert_count");
  config["num_experts_per_tok"] = m.count(a + "expert_used_count");
}

}  // namespace

Json gguf_config(const GgufHeader& header, const std::string& file) {
  const Metadata m(header, file);
  const std::string architecture = m.text("general.architecture");
  const std::string family = gguf_family(architecture), a = architecture + ".";
  // Before the keys, which would be named in place of what they belong to.
  require_family(family, file);
  if (const std::string type = m.text("general.type", "model"); type != "model") {
    m.unsupported("a GGUF file of the type " + quoted(type) + " (general.type)");
  }
  // 0: joined again.
  if (const int parts = m.count("split.count", 1, 0); parts > 1) {
    m.unsupported("a GGUF file in " + std::to_string(parts) + " parts (split.count)");
  }
  m.require_known(architecture);
  auto embedding = header.tensors.find("token_embd.weight");
  if (embedding == header.tensors.end() || embedding->second.shape.size() != 2) {
    m.invalid("tensor 'token_embd.weight' is missing or no matrix");
  }
  const int hidden = m.count(a + "embedding_length"), heads = m.count(a + "attention.head_count");
  const int head_dim = m.count(a + "attention.key_length", std::max(1, hidden / heads));
  if (m.count(a + "attention.value_length", head_dim) != head_dim ||
      m.count(a + "rope.dimension_count", head_dim) != head_dim) {
    m.unsupported("a value or rope size that differs from the head's");
  }
  Json config = {
      {"head_dim", head_dim},
      {"hidden_size", hidden},
      {"intermediate_size", m.count(a + "feed_forward_length")},
      {"max_position_embeddings", m.count(a + "context_length")},
      {"model_type", family},
      {"num_attention_heads", heads},
      {"num_hidden_layers", m.count(a + "block_count")},
      {"num_key_value_heads", m.count(a + "attention.head_count_kv", heads)},
      {"rms_norm_eps", m.number(a + "attention.layer_norm_rms_epsilon")},
      {"rope_parameters", rope_of(m, a)},
      {"tie_word_embeddings", header.tensors.count("output.weight") == 0},
      {"vocab_size", embedding->second.shape[0]}};
  if (family == "gemma3_text") {
    add_gemma3(m, a, config);
  } else if (family == "qwen3_moe") {
    add_qwen3_moe(m, a, config);
  } else if (family == "smollm3") {
    config["no_rope_layer_interval"] = 4;
  }
  return config;
}

}  // namespace atelier
