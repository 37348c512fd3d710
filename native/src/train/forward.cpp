// Shapes: B lines, L length, D model, T targets.
#include "train/forward.h"

#include "core/random.h"
#include "train/pace.h"

#include <cmath>

namespace atelier {
namespace {

// Each token of a packed line sees its own row up to itself; padding sees padding, so that no query sees nothing.
// Additive: a boolean mask would be held once a head on CUDA.
std::optional<mx::array> packed_mask(const PaddedBatch& batch, mx::Dtype dtype) {
  if (!batch.piece_BL) {
    return std::nullopt;
  }
  const int L = batch.ids_BL.shape(1);
  auto same = mx::equal(mx::expand_dims(*batch.piece_BL, 2), mx::expand_dims(*batch.piece_BL, 1));
  auto position = mx::arange(L, mx::int32);
  auto before = mx::greater_equal(mx::expand_dims(position, 1), mx::expand_dims(position, 0));
  auto zero = mx::array(0.0f, dtype);
  auto least = mx::array(mx::finfo(dtype).min, dtype);
  return mx::expand_dims(mx::where(mx::logical_and(same, before), zero, least), 1);
}

mx::array embedding_noise(const PaddedBatch& batch, int width, const EmbeddingNoise& noise) {
  const int all = static_cast<int>(batch.ids_BL.size());
  std::vector<mx::array> parts;
  int done = 0;
  auto fill_up_to = [&](int to) {
    if (to > done) {
      parts.push_back(mx::zeros({to - done, width}, mx::float32));
      done = to;
    }
  };
  for (const auto& [row, at, tokens] : batch.pieces) {
    if (tokens == 0) {
      continue;
    }
    fill_up_to(at);
    const double numbers = static_cast<double>(tokens) * width;
    const mx::array bound(static_cast<float>(noise.alpha / std::sqrt(numbers)));
    const auto key = random_key(noise.seed, Stream::embedding_noise, static_cast<uint32_t>(row));
    parts.push_back(mx::random::uniform(-bound, bound, {tokens, width}, mx::float32, key));
    done += tokens;
  }
  fill_up_to(all);
  auto flat = mx::concatenate(parts, 0);
  return mx::reshape(flat, {batch.ids_BL.shape(0), batch.ids_BL.shape(1), width});
}

// What is differentiated by has to be an argument of the checkpoint: a captured tracer would get no gradient.
mx::array recomputed_layer(
    const Model& model,
    int index,
    const Bound& bound,
    const mx::array& x,
    const Model::Pass& pass) {
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  Bound layer;
  std::vector<mx::array> arguments{x};
  std::vector<std::pair<Params Bound::*, std::string>> places;
  for (auto part : {&Bound::weights, &Bound::lora}) {
    const auto& all = bound.*part;
    for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix);
         ++at) {
      (layer.*part).insert(*at);
      if (at->second.is_tracer()) {
        places.emplace_back(part, at->first);
        arguments.push_back(at->second);
      }
    }
  }
  // What else the layer makes has to be a result: what a trace leaves behind has no gradient.
  auto body = [&model, index, layer, places, pass](const std::vector<mx::array>& in) {
    Bound own = layer;
    for (size_t i = 0; i < places.size(); i++) {
      (own.*places[i].first).insert_or_assign(places[i].second, in[i + 1]);
    }
    std::vector<mx::array> routers;
    Model::Pass inside = pass;
    inside.router_logits = pass.router_logits ? &routers : nullptr;
    std::vector<mx::array> made{model.layer(index, own.weights, own.lora, in[0], inside)};
    made.insert(made.end(), routers.begin(), routers.end());
    return made;
  };
  auto made = mx::checkpoint(body)(arguments);
  if (pass.router_logits) {
    pass.router_logits->insert(pass.router_logits->end(), made.begin() + 1, made.end());
  }
  return made[0];
}

mx::array hidden_states(
    const Model& model,
    const Bound& bound,
    const PaddedBatch& batch,
    const ForwardOptions& options,
    std::vector<mx::array>* router_logits) {
  auto x = model.embed(bound.weights, batch.ids_BL);
  auto pass = model.begin(batch.ids_BL, nullptr, packed_mask(batch, x.dtype()));
  pass.router_logits = router_logits;
  if (options.noise) {
    x = x + mx::astype(embedding_noise(batch, x.shape(-1), *options.noise), x.dtype());
  }
  for (int i = 0; i < model.config().layers; i++) {
    x = keep_pace(
        options.recompute ? recomputed_layer(model, i, bound, x, pass)
                          : model.layer(i, bound.weights, bound.lora, x, pass));
  }
  return model.final_norm(bound.weights, x);
}

// Rows of x [N, D] that are targets' inputs. Each is one's at most, so the backward reads where scattering would add.
mx::array at_targets(const mx::array& x_ND, const PaddedBatch& batch) {
  if (static_cast<int>(batch.place_T.size()) == x_ND.shape(0)) {
    return x_ND;  // no padding: they stand in order
  }
  auto forward = [at_T = batch.at_T](const std::vector<mx::array>& in) {
    return std::vector<mx::array>{mx::take(in[0], at_T, 0)};
  };
  auto backward = [target_N = batch.target_N](
                      const std::vector<mx::array>& in,
                      const std::vector<mx::array>& g,
                      const std::vector<mx::array>&) {
    const auto none = mx::array(0, mx::int32);
    const auto own = mx::take(g[0], mx::maximum(target_N, none), 0);
    const auto there = mx::expand_dims(mx::greater_equal(target_N, none), 1);
    return std::vector<mx::array>{mx::where(there, own, mx::zeros({}, own.dtype()))};
  };
  return mx::custom_vjp(forward, backward)({x_ND})[0];
}

}  // namespace

mx::array forward_hidden(
    const Model& model,
    const Bound& bound,
    const PaddedBatch& batch,
    const ForwardOptions& options,
    std::vector<mx::array>* router_logits) {
  auto hidden = hidden_states(model, bound, batch, options, router_logits);
  return at_targets(mx::reshape(hidden, {-1, hidden.shape(-1)}), batch);
}

// A GPU wants large products; the CPU gains nothing beyond what keeps its two cores busy.
size_t chunk_bytes() {
  return mx::default_device() == mx::Device::cpu ? size_t{8} << 20 : size_t{320} << 20;
}

// Attention's backward on CUDA needs lengths that are multiples of 128 (cuDNN); shapes cost nothing on the CPU.
Buckets training_buckets() {
  return mx::default_device() == mx::Device::cpu ? Buckets{} : Buckets{128, 8};
}

}  // namespace atelier
