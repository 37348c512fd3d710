#include "models/bound.h"

#include "nn/lora.h"

#include <algorithm>

namespace atelier {
namespace {

constexpr const char* const parts[] = {".weight", ".scales", ".biases"};

bool saves(const Adapter& adapter, const char* module) {
  return std::find(adapter.saved.begin(), adapter.saved.end(), module) != adapter.saved.end();
}

std::optional<mx::array> scalar_head_in(const Params& params) {
  auto found = params.find(scalar_head_name);
  return found == params.end() ? std::nullopt
                               : std::optional(mx::astype(found->second, mx::float32));
}

}  // namespace

Bound bind_weights(Params weights) {
  auto head = scalar_head_in(weights);
  return {std::move(weights), {}, std::move(head)};
}

Bound bind_model(const LoadedModel& model) {
  return bind_weights(model.weights);
}

bool trains_head(const LoadedModel& base, const Adapter& adapter) {
  return saves(adapter, "lm_head") || (base.model->config().tied && adapter.ensure_weight_tying &&
                                       saves(adapter, "model.embed_tokens"));
}

Bound bind_adapter(const LoadedModel& base, const Adapter& adapter, const Params& params) {
  Params weights = base.weights;
  const bool own_embedding = saves(adapter, "model.embed_tokens");
  if (base.model->config().tied && own_embedding && !adapter.ensure_weight_tying) {
    for (const char* part : parts) {
      if (auto found = base.weights.find(std::string("model.embed_tokens") + part);
          found != base.weights.end()) {
        weights.insert_or_assign(std::string("lm_head") + part, found->second);
      }
    }
  }
  for (const std::string& module : adapter.saved) {
    for (const char* part : parts) {
      weights.erase(module + part);
    }
    weights.emplace(module + ".weight", mx::astype(params.at(module + ".weight"), base.dtype));
  }
  Bound bound = bind_weights(std::move(weights));
  bound.lora = stack_lora(base.model->linears(), adapter.sites, params, base.weights, base.dtype);
  if (auto own = scalar_head_in(params)) {
    bound.scalar_head = own;
  }
  return bound;
}

}  // namespace atelier
