// GGUF files of llama.cpp's converter (gguf 0.19.0, constants.py and tensor_mapping.py).
#include "core/error.h"
#include "core/text.h"
#include "models/checkpoint.h"
#include "models/gguf_config.h"
#include "models/gguf_names.h"
#include "models/registry.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace atelier {
namespace {

// llama.cpp stores the rows of q and k of the llama family so that rope pairs neighbours; here it pairs halves.
mx::array unpermuted(const mx::array& w, int heads) {
  const int rows = w.shape(0), in = w.shape(1);
  return mx::reshape(
      mx::transpose(mx::reshape(w, {heads, rows / heads / 2, 2, in}), {0, 2, 1, 3}), {rows, in});
}

// Llama 3.1 and later: their GGUF holds no parameters of the scaling, only each frequency's divisor. The
// parameters are those the models were published with; they must reproduce the divisors.
Json llama3_rope(const Json& config, const GgufTensor& scaling, const std::string& file) {
  const int head_dim = config.at("head_dim");
  const double theta = config.at("rope_parameters").at("rope_theta"), original = 8192.0;
  bool same = scaling.shape == std::vector<int64_t>{head_dim / 2};
  const std::vector<float> divisors =
      same ? read_gguf_tensor(file, scaling) : std::vector<float>{1.0f};
  const double factor = *std::max_element(divisors.begin(), divisors.end());
  for (int i = 0; same && i < head_dim / 2; i++) {
    const double wavelength = 2 * std::numbers::pi * std::pow(theta, 2.0 * i / head_dim);
    const double smooth = std::clamp((original / wavelength - 1.0) / 3.0, 0.0, 1.0);
    const double expected = 1 / ((1 - smooth) / factor + smooth);
    same = factor >= 1 && std::abs(divisors[i] - expected) < 1e-3 * expected;
  }
  if (!same) {
    throw Error(
        ErrorCode::unsupported_model,
        file + ": the scaling in tensor 'rope_freqs.weight' is not supported");
  }
  return {
      {"factor", factor},
      {"high_freq_factor", 4.0},
      {"low_freq_factor", 1.0},
      {"original_max_position_embeddings", original},
      {"rope_theta", theta},
      {"rope_type", "llama3"}};
}

class GgufCheckpoint : public Checkpoint {
 public:
  explicit GgufCheckpoint(const std::string& file)
      : Checkpoint(file), header_(read_gguf_header(file)) {
    config_ = gguf_config(header_, file);
    require_gguf_types(file, header_);
    auto unknown = header_.tensors;
    if (auto scaling = unknown.find(gguf_rope_scaling); scaling != unknown.end()) {
      config_["rope_parameters"] = llama3_rope(config_, scaling->second, file);
      unknown.erase(scaling);
    }
    model_ = make_model(config_.dump(), file);
    const int experts = config_.value("num_experts", 0);
    const ModelConfig& config = model_->config();
    for (const auto& [to, from] : gguf_names(config.family, config.layers, experts)) {
      auto found = header_.tensors.find(from.tensor);
      if (found == header_.tensors.end()) {
        continue;
      }
      const GgufTensor part = from.expert < 0
                                  ? found->second
                                  : of_expert(found->second, from.expert, experts, from.tensor);
      shapes_.emplace(to, mx::Shape(part.shape.begin(), part.shape.end()));
      tensors_.emplace(to, part);
      unknown.erase(from.tensor);
    }
    if (!unknown.empty()) {
      throw Error(
          ErrorCode::unsupported_model,
          file + ": tensor " + quoted(unknown.begin()->first) + " is none that a " +
              model_->config().family + " model has here");
    }
    check_tensors(*model_, shapes_, file);
  }

  mx::array read(const std::string& name, mx::Dtype dtype) const override {
    const std::string& family = model_->config().family;
    const GgufTensor& tensor = tensors_.at(name);
    if (stores_one_plus_norms(family) && name.ends_with("norm.weight")) {
      return mx::astype(load_gguf(path(), name, tensor, mx::float32) - mx::array(1.0f), dtype);
    }
    mx::array value = load_gguf(path(), name, tensor, dtype);
    if (rotates_neighbours(family) && name.ends_with("q_proj.weight")) {
      value = unpermuted(value, config_.at("num_attention_heads"));
    } else if (rotates_neighbours(family) && name.ends_with("k_proj.weight")) {
      value = unpermuted(value, config_.at("num_key_value_heads"));
    }
    return value;
  }

 private:
  // Experts lie one after the other.
  GgufTensor of_expert(const GgufTensor& all, int expert, int experts, const std::string& name)
      const {
    if (all.shape.size() != 3 || all.shape[0] != experts) {
      throw Error(
          ErrorCode::invalid_file,
          path() + ": tensor " + quoted(name) + " does not hold " + std::to_string(experts) +
              " experts");
    }
    const uint64_t bytes = all.bytes / experts;
    return {all.type, {all.shape[1], all.shape[2]}, all.begin + bytes * expert, bytes};
  }

  GgufHeader header_;
  /** As transformers would write it. */
  Json config_;
  /** By transformers' names. */
  std::map<std::string, GgufTensor> tensors_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_gguf(const std::string& file) {
  return std::make_unique<GgufCheckpoint>(file);
}

}  // namespace atelier
