// Keys: ggml's docs/gguf.md; what convert_hf_to_gguf.py writes for these families.
#include "models/export_gguf.h"

#include "core/error.h"
#include "core/text.h"
#include "models/config_reader.h"
#include "models/gguf_names.h"

#include <cmath>

namespace atelier {
namespace {

using Type = GgufEntry::Type;

// llama.cpp rotates neighbours in the llama family; transformers halves.
mx::array permuted(const mx::array& w, int heads) {
  const int rows = w.shape(0), in = w.shape(1);
  return mx::reshape(
      mx::transpose(mx::reshape(w, {heads, 2, rows / heads / 2, in}), {0, 2, 1, 3}), {rows, in});
}

/** What GGUF's keys say of a Llama-like decoder. */
struct Sizes {
  DenseConfig dense;
  double theta;
  /** Of the rotary frequencies; empty: none is divided. */
  std::vector<float> divisors;
};

Sizes sizes_of(const MergedCheckpoint& merged) {
  const ModelConfig& c = merged.model().config();
  const Json json = Json::parse(c.json);
  const ConfigReader reader(json, "config.json");
  Sizes out{reader.dense(c.family), 0, {}};
  auto rows = [&](const char* name) {
    return merged.shapes().at("model.layers.0.self_attn." + std::string(name))[0];
  };
  // The family's default where the configuration leaves it out: the matrix has it.
  const int head_dim = out.dense.head_dim = rows("q_proj.weight") / out.dense.heads;
  const Rope rope = reader.rope(head_dim, c.context);
  if (rope.amplitude != 1.0f) {
    throw Error(ErrorCode::unsupported_model, "a YaRN rope cannot be written as GGUF here");
  }
  const Json& now = reader.value("rope_parameters");
  out.theta = reader.number("rope_theta", 10000.0);
  if (now.is_object()) {
    out.theta = ConfigReader(now, "config.json: rope").number("rope_theta", out.theta);
  }
  bool divided = false;
  for (int i = 0; i < head_dim; i += 2) {
    const double plain = std::pow(out.theta, -double(i) / head_dim);
    const double divisor = plain / rope.inv_freq[i / 2];
    divided |= std::abs(divisor - 1) > 1e-5;
    out.divisors.push_back(static_cast<float>(divisor));
  }
  if (!divided) {
    out.divisors.clear();
  }
  return out;
}

uint32_t file_type(const std::string& type) {
  return type == "F32" ? 0 : type == "F16" ? 1 : 7;
}

std::vector<GgufEntry> metadata_of(const Sizes& sizes, const std::string& type) {
  const auto& [c, intermediate, heads, kv_heads, head_dim, norm_epsilon] = sizes.dense;
  std::vector<GgufEntry> out;
  const std::string family = c.family;
  auto number = [&](const std::string& key, double value, Type as = Type::u32) {
    out.push_back({family + "." + key, as, value});
  };
  out.push_back({"general.architecture", Type::text, 0, c.family});
  out.push_back({"general.type", Type::text, 0, "model"});
  out.push_back({"general.file_type", Type::u32, static_cast<double>(file_type(type))});
  out.push_back({"general.quantization_version", Type::u32, 2});
  number("block_count", c.layers);
  number("context_length", c.context);
  number("embedding_length", c.hidden);
  number("feed_forward_length", intermediate);
  number("attention.head_count", heads);
  number("attention.head_count_kv", kv_heads);
  number("attention.key_length", head_dim);
  number("attention.value_length", head_dim);
  number("attention.layer_norm_rms_epsilon", norm_epsilon, Type::f32);
  number("rope.freq_base", sizes.theta, Type::f32);
  number("rope.dimension_count", head_dim);
  number("vocab_size", c.vocabulary);
  return out;
}

}  // namespace

bool writes_gguf(const std::string& family) {
  return family == "llama" || family == "qwen3";
}

void export_gguf(
    const MergedCheckpoint& merged,
    const std::string& file,
    const std::string& type,
    std::vector<GgufEntry> text,
    const std::atomic<bool>& cancelled) {
  const ModelConfig& c = merged.model().config();
  if (merged.scalar_head()) {
    throw Error(
        ErrorCode::unsupported_model,
        "a reward model cannot be written as GGUF",
        "Export it merged, as safetensors, or as an adapter.");
  }
  if (!writes_gguf(c.family)) {
    throw Error(
        ErrorCode::unsupported_model,
        "a model of the family " + quoted(c.family) + " cannot be written as GGUF",
        "Export it merged, as safetensors, and convert that with llama.cpp.");
  }
  const auto names = gguf_names(c.family, c.layers);
  std::vector<GgufToWrite> tensors;
  const Sizes sizes = sizes_of(merged);
  const int heads = sizes.dense.heads, kv_heads = sizes.dense.kv_heads;
  if (!sizes.divisors.empty()) {
    const int count = static_cast<int>(sizes.divisors.size());
    tensors.push_back({gguf_rope_scaling, "F32", {count}, [&, count] {
                         return mx::array(sizes.divisors.begin(), {count}, mx::float32);
                       }});
  }
  for (const auto& [name, shape] : merged.shapes()) {
    auto found = names.find(name);
    if (found == names.end()) {
      throw Error(
          ErrorCode::unsupported_model, "tensor " + quoted(name) + " has no name in GGUF here");
    }
    const std::string as = shape.size() == 1                          ? "F32"
                           : type == "Q8_0" && shape.back() % 32 != 0 ? "F16"
                                                                      : type;
    tensors.push_back({found->second.tensor, as, shape, [&, name = name] {
                         if (cancelled) {
                           throw Error(ErrorCode::cancelled, "export: cancelled");
                         }
                         const mx::array value = merged.read(name);
                         if (c.family != "llama") {
                           return value;
                         }
                         return name.ends_with("q_proj.weight")   ? permuted(value, heads)
                                : name.ends_with("k_proj.weight") ? permuted(value, kv_heads)
                                                                  : value;
                       }});
  }
  std::vector<GgufEntry> metadata = metadata_of(sizes, type);
  metadata.insert(
      metadata.end(), std::make_move_iterator(text.begin()), std::make_move_iterator(text.end()));
  write_gguf(file, metadata, tensors);
}

}  // namespace atelier
