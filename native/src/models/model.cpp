#include "models/model.h"

#include "core/error.h"

#include <algorithm>

namespace atelier {

mx::array Model::hidden(
    const Params& weights,
    const Params& lora,
    const mx::array& ids_BL,
    KvCache* cache,
    std::optional<mx::array> mask,
    std::vector<mx::array>* router_logits) const {
  Pass pass = begin(ids_BL, cache, std::move(mask));
  pass.router_logits = router_logits;
  mx::array x = embed(weights, ids_BL);
  for (int i = 0; i < config_.layers; i++) {
    x = layer(i, weights, lora, x, pass);
  }
  if (cache) {
    cache->advance(ids_BL.shape(1));
  }
  return final_norm(weights, x);
}

bool Model::mixture() const {
  const std::vector<LinearModule> modules = linears();
  return std::any_of(
      modules.begin(), modules.end(), [](const LinearModule& m) { return m.experts > 0; });
}

int64_t Model::parameters() const {
  int64_t total = 0;
  for (const TensorSpec& spec : tensors()) {
    int64_t items = 1;
    for (const int n : spec.shape) {
      items *= n;
    }
    total += items;
  }
  return total;
}

Weight Model::head(const Params& weights) const {
  const bool own = weights.count("lm_head.weight") > 0;
  if (config_.scalar_head && !own) {
    throw Error(
        ErrorCode::invalid_argument,
        "model: it is a reward model, which scores texts: it has no head over the vocabulary",
        "Choose the model that it was made from, or another one that writes.");
  }
  return weight_of(weights, own ? "lm_head" : "model.embed_tokens", config_.hidden);
}

mx::array Model::logits(const Params& weights, const mx::array& hidden) const {
  return head(weights).times_f32(hidden);
}

}  // namespace atelier
