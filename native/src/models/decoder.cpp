// Shapes: B batch, L length, D model.
#include "models/decoder.h"

#include "models/parts/stacked.h"
#include "nn/linear.h"

namespace atelier {

std::string layer_name(int index) {
  return "model.layers." + std::to_string(index) + ".";
}

Decoder::Decoder(DecoderSpec spec) : Model(spec.config), spec_(std::move(spec)) {
  for (const auto& layer : spec_.layers) {
    for (const Residual& r : layer) {
      const std::vector<LinearModule> own = r.part->modules();
      modules_.insert(modules_.end(), own.begin(), own.end());
    }
  }
}

std::string Decoder::stored_name(const std::string& name) const {
  return spec_.stored_name ? spec_.stored_name(name) : name;
}

std::set<std::string> Decoder::buffers() const {
  std::set<std::string> out;
  for (const TensorSpec& spec : tensors()) {
    if (spec.buffer) {
      out.insert(spec.name);
    }
  }
  return out;
}

std::vector<TensorSpec> Decoder::tensors() const {
  const ModelConfig& c = config();
  std::vector<TensorSpec> out{
      {"model.embed_tokens.weight", {c.vocabulary, c.hidden}}, spec_.final_norm.tensor()};
  if (c.scalar_head) {
    out.push_back({scalar_head_name, {1, c.hidden}});
  } else if (!c.tied) {
    out.push_back({"lm_head.weight", {c.vocabulary, c.hidden}});
  }
  auto add = [&](const std::vector<TensorSpec>& more) {
    out.insert(out.end(), more.begin(), more.end());
  };
  for (const auto& layer : spec_.layers) {
    for (const Residual& r : layer) {
      add({r.before.tensor()});
      if (r.after) {
        add({r.after->tensor()});
      }
      add(r.part->tensors());
    }
  }
  add(module_tensors(modules_));
  return out;
}

RowNumbers Decoder::row_numbers() const {
  RowNumbers out;
  for (const auto& layer : spec_.layers) {
    for (const Residual& r : layer) {
      const RowNumbers own = r.part->row_numbers();
      out.cached_token += own.cached_token;
      // And what the norm takes and gives.
      out.kept_token += own.kept_token + uint64_t{2} * config().hidden;
      out.kept_pair += own.kept_pair;
      out.recurrent += own.recurrent;
    }
  }
  return out;
}

Params Decoder::stack(const Params& checkpoint) const {
  return stack_modules(modules_, checkpoint);
}

Params Decoder::unstack(const Params& weights) const {
  return unstack_modules(modules_, weights);
}

Model::Pass Decoder::begin(const mx::array& ids_BL, KvCache* cache, std::optional<mx::array> mask)
    const {
  const int L = ids_BL.shape(1);
  const mx::array positions =
      cache ? cache->positions(L) : mx::reshape(mx::arange(L, mx::int32), {1, L});
  Pass pass;
  for (const Rope& rope : spec_.ropes) {
    pass.angles.push_back(rope_angles(positions, rope));
  }
  pass.visible.mask = std::move(mask);
  if (cache) {
    pass.visible.start = cache->ragged() ? cache->start : std::vector<int32_t>{};
    pass.visible.on_device = cache->on_device;
  }
  pass.cache = cache;
  return pass;
}

mx::array Decoder::embed(const Params& weights, const mx::array& ids_BL) const {
  const mx::array x = embedding(weights, "model.embed_tokens", ids_BL, config().hidden);
  return spec_.embedding_scale == 1.0f
             ? x
             : mx::astype(mx::astype(x, mx::float32) * mx::array(spec_.embedding_scale), x.dtype());
}

mx::array Decoder::layer(
    int index,
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Pass& pass) const {
  mx::array x = x_BLD;
  for (const Residual& r : spec_.layers[index]) {
    const auto [through, in] = r.before.branch(weights, x);
    x = r.after ? through + (*r.after)(weights, r.part->forward(weights, lora, in, pass))
                : r.part->forward_onto(through, weights, lora, in, pass);
  }
  return x;
}

mx::array Decoder::final_norm(const Params& weights, const mx::array& x_BLD) const {
  return spec_.final_norm(weights, x_BLD);
}

}  // namespace atelier
