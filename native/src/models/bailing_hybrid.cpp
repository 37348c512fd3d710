// Bailing-MoE V3 (Ling 3; transformers 5.24.0, modeling_bailing_hybrid.py): Kimi delta attention, in the last layer of
// every group latent attention; experts chosen within groups of them by sigmoid scores and a bias.
#include "models/dense.h"
#include "models/families.h"
#include "models/parts/experts.h"
#include "models/parts/kimi_delta.h"
#include "models/parts/latent_attention.h"

#include <algorithm>

namespace atelier {
namespace {

// Of the norms of latents, whatever rms_norm_eps says.
constexpr float latent_epsilon = 1e-6f;

// The names that transformers writes, and those of published checkpoints, which are read here.
constexpr std::pair<const char*, const char*> renamed[] = {
    {"model_max_length", "max_position_embeddings"},
    {"moe_renormalize", "norm_topk_prob"},
    {"num_expert_group", "n_group"},
    {"num_experts_per_token", "num_experts_per_tok"},
    {"n_shared_experts", "num_shared_experts"},
    {"num_mtp_layers", "num_nextn_predict_layers"}};

Json with_published_names(const ConfigReader& reader) {
  Json json = reader.json();
  // Which family this is has been looked at.
  json.erase("model_type");
  json.erase("architectures");
  for (const auto& [from, to] : renamed) {
    if (auto found = json.find(from); found != json.end()) {
      if (json.contains(to) && json.at(to) != *found) {
        reader.invalid(std::string(from) + " and " + to + " differ");
      }
      json[to] = *found;
      json.erase(from);
    }
  }
  return json;
}

// What was chosen among while the family was made; only one way is run.
void require_features(const ConfigReader& r) {
  r.require("hidden_act", {"silu"});
  r.require("attention_bias", {false});
  r.require("score_function", {"sigmoid"});
  r.require("topk_method", {"noaux_tc"});
  r.require("moe_router_enable_expert_bias", {true});
  r.require("no_kda_lora", {true});
  r.require("use_qk_norm", {false});
  r.require("rope_interleave", {true});
  r.require("gated_attention_proj_granularity_type", {"head_wise"});
  // Of other layouts, of precision that is f32 here, and of training.
  for (const char* unused :
       {"moe_router_dtype",
        "group_norm_size",
        "partial_rotary_factor",
        "rotary_dim",
        "qk_head_dim",
        "linear_conv_kernel_dim",
        "mtp_loss_scaling_factor",
        "use_rmsnorm"}) {
    r.has(unused);
  }
}

int from_zero(const ConfigReader& reader, const char* key, int otherwise) {
  return reader.value(key) == 0 ? 0 : reader.count(key, otherwise);
}

// Whether each layer's entry of a list is `yes`; `no` is the other.
std::vector<bool>
layer_list(const ConfigReader& r, const char* key, const char* yes, const char* no, int layers) {
  const Json& types = r.value(key);
  if (!types.is_array() || types.size() != static_cast<size_t>(layers)) {
    r.invalid(std::string(key) + " must be a list with one entry a layer");
  }
  std::vector<bool> out;
  for (const Json& type : types) {
    if (type != yes && type != no) {
      r.unsupported(std::string(key) + " with " + type.dump().substr(0, 80));
    }
    out.push_back(type == yes);
  }
  return out;
}

std::vector<bool> full_layers(const ConfigReader& r, int layers) {
  const int group = r.count("layer_group_size", 6);
  if (r.has("layer_types")) {
    return layer_list(r, "layer_types", "full_attention", "linear_attention", layers);
  }
  if (layers % group != 0) {
    // KDA in transformers, latent attention in mlx-lm and the published code.
    r.unsupported(
        "a last group of layers that is not full, without layer_types",
        "Say in layer_types which layers are \"full_attention\" and which \"linear_attention\".");
  }
  std::vector<bool> out;
  for (int i = 0; i < layers; i++) {
    out.push_back((i + 1) % group == 0);
  }
  return out;
}

std::vector<bool> sparse_layers(const ConfigReader& r, int layers) {
  const int dense = from_zero(r, "first_k_dense_replace", 2);
  if (r.has("mlp_layer_types")) {
    return layer_list(r, "mlp_layer_types", "sparse", "dense", layers);
  }
  std::vector<bool> out(layers, true);
  std::fill(out.begin(), out.begin() + std::min(dense, layers), false);
  return out;
}

KimiDeltaOptions kimi_of(const ConfigReader& r, const DenseConfig& c) {
  KimiDeltaOptions o;
  o.hidden = c.model.hidden;
  o.heads = c.heads;
  // transformers writes the size of rotated heads as head_dim.
  o.head_dim = r.count("linear_head_dim", c.head_dim);
  o.width = r.count("short_conv_kernel_size", 4);
  o.epsilon = static_cast<float>(c.norm_epsilon);
  const double bound = r.number("kda_lower_bound", -5.0);
  if (r.flag("kda_safe_gate", true)) {
    o.lower_bound = bound;
  }
  if (r.count("linear_num_heads", o.heads) != o.heads) {
    r.unsupported("linear_num_heads other than num_attention_heads");
  }
  if (o.width < 2 || o.width > 1000 || !(bound <= 0) || int64_t{o.heads} * o.head_dim > 1'000'000) {
    r.invalid("senseless sizes of linear attention, or a kda_lower_bound above 0");
  }
  return o;
}

LatentAttentionOptions latent_of(const ConfigReader& r, const DenseConfig& c) {
  LatentAttentionOptions o;
  o.hidden = c.model.hidden;
  o.heads = c.heads;
  o.kv_rank = r.count("kv_lora_rank", 512);
  o.q_rank = r.has("q_lora_rank") ? r.count("q_lora_rank") : 0;
  o.plain = r.count("qk_nope_head_dim", 128);
  o.rotary = r.count("qk_rope_head_dim", 64);
  o.value = r.count("v_head_dim", 128);
  o.epsilon = latent_epsilon;
  const int64_t heads = o.heads;
  if (o.rotary % 2 != 0 || heads * (int64_t{o.plain} + o.rotary + o.value) > 1'000'000 ||
      o.kv_rank > 1'000'000 || o.q_rank > 1'000'000) {
    r.invalid("senseless sizes of latent attention");
  }
  if (c.kv_heads != c.heads) {
    r.unsupported("num_key_value_heads other than num_attention_heads");
  }
  return o;
}

Rope rope_of(const ConfigReader& r, int rotary, int context) {
  const Json& now = r.value("rope_parameters");
  const Json& before = r.value("rope_scaling");
  r.require_one_scaling(now);
  const Json& parameters = now.is_null() ? before : now;
  if (parameters.is_object()) {
    // Other types change what scores are multiplied by too.
    ConfigReader(parameters, r.where() + ": rope").require("rope_type", {"default"});
  }
  return r.rope_of(parameters, rotary, context, r.number("rope_theta", 6'000'000.0));
}

struct Mixture {
  MixtureConfig sizes;
  GroupedRouting routing;
  /** Of the shared experts together; 0: none. */
  int shared;
};

Mixture mixture_of(const ConfigReader& r) {
  Mixture out{r.mixture(), {}, 0};
  const MixtureConfig& m = out.sizes;
  GroupedRouting& g = out.routing;
  g.groups = r.count("n_group", 8);
  g.chosen_groups = r.count("topk_group", 4);
  g.chosen = m.chosen;
  g.normalise = r.flag("norm_topk_prob", true);
  g.factor = static_cast<float>(r.number("routed_scaling_factor", 2.5));
  // Of a group the sum of its two best counts.
  if (m.experts % g.groups != 0 || m.experts / g.groups < 2 || g.chosen_groups > g.groups ||
      m.chosen > m.experts / g.groups * g.chosen_groups) {
    r.invalid("num_experts, n_group, topk_group and num_experts_per_tok do not fit together");
  }
  const int each = r.count("moe_shared_expert_intermediate_size", m.intermediate);
  out.shared = from_zero(r, "num_shared_experts", 1) * each;
  return out;
}

std::shared_ptr<const Part> experts(const Mixture& mixture, int hidden, int layer) {
  ExpertsOptions o;
  o.at = layer_name(layer) + "mlp.";
  o.hidden = hidden;
  o.experts = mixture.sizes.experts;
  o.chosen = mixture.sizes.chosen;
  o.intermediate = mixture.sizes.intermediate;
  const std::string bias = o.at + "gate.expert_bias";
  o.router_tensors = {{bias, {o.experts}, Fill::zeros, true}};
  o.route = [bias, routing = mixture.routing](const Params& weights, const mx::array& logits_NE) {
    return grouped_routing(logits_NE, weights.at(bias), routing);
  };
  if (mixture.shared > 0) {
    o.shared = SharedExpert{o.at + "shared_experts.", mixture.shared, ""};
  }
  return std::make_shared<Experts>(std::move(o));
}

// Published checkpoints name embeddings and attention otherwise than transformers' modules.
std::string stored(const std::string& name, const std::vector<bool>& full) {
  const std::string embedding = "model.embed_tokens.", layers = "model.layers.";
  if (name.starts_with(embedding)) {
    return "model.word_embeddings." + name.substr(embedding.size());
  }
  const std::string module = ".self_attn.", gate = "forget_gate.", out = "o_proj.";
  const size_t at = name.find(module);
  if (!name.starts_with(layers) || at == std::string::npos) {
    return name;
  }
  std::string rest = name.substr(at + module.size());
  if (rest.starts_with(gate)) {
    rest = rest.substr(gate.size());
  } else if (rest.starts_with(out) && full[std::stoi(name.substr(layers.size()))]) {
    rest = "dense." + rest.substr(out.size());
  }
  return name.substr(0, at) + ".attention." + rest;
}

}  // namespace

std::shared_ptr<const Model> make_bailing_hybrid(const ConfigReader& reader) {
  const Json json = with_published_names(reader);
  const ConfigReader r(json, reader.where());
  require_features(r);
  const DenseConfig c = r.dense("bailing_hybrid");
  const KimiDeltaOptions kimi = kimi_of(r, c);
  const LatentAttentionOptions latent = latent_of(r, c);
  const std::vector<bool> full = full_layers(r, c.model.layers);
  const std::vector<bool> sparse = sparse_layers(r, c.model.layers);
  const Mixture mixture = mixture_of(r);
  DecoderSpec spec = decoder_of(c, {rope_of(r, latent.rotary, c.model.context)});
  spec.config.json = reader.json().dump();
  spec.stored_name = [full](const std::string& name) { return stored(name, full); };
  for (int i = 0; i < from_zero(r, "num_nextn_predict_layers", 0); i++) {
    spec.config.left_out.push_back(
        {layer_name(c.model.layers + i), "a layer for multi-token prediction"});
  }
  for (int i = 0; i < c.model.layers; i++) {
    std::shared_ptr<const Part> attention;
    if (full[i]) {
      LatentAttentionOptions o = latent;
      o.index = i;
      o.at = layer_name(i) + "self_attn.";
      attention = std::make_shared<LatentAttention>(std::move(o));
    } else {
      KimiDeltaOptions o = kimi;
      o.index = i;
      o.at = layer_name(i) + "self_attn.";
      attention = std::make_shared<KimiDelta>(std::move(o));
    }
    spec.layers.push_back(pre_norm_layer(
        c,
        i,
        std::move(attention),
        sparse[i] ? experts(mixture, c.model.hidden, i)
                  : std::make_shared<GatedMlp>(mlp_of(c, i))));
  }
  r.require_known_keys();
  // All keys have been looked at under their published names.
  for (const auto& [key, value] : reader.json().items()) {
    reader.has(key.c_str());
  }
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace atelier
