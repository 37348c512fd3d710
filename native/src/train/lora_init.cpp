#include "train/lora_init.h"

#include "core/random.h"
#include "nn/lora.h"
#include "nn/stacking.h"

#include <cmath>

namespace atelier {

Adapter init_adapter(const LoraConfig& config, const LoadedModel& base, uint64_t seed) {
  const std::vector<LinearModule> modules = base.model->linears();
  Adapter adapter{
      lora_sites(config, modules), {}, saved_modules(config), config.ensure_weight_tying};
  for (size_t i = 0; i < modules.size(); i++) {
    const auto& module = modules[i];
    auto site = adapter.sites.find(module.name);
    if (site == adapter.sites.end()) {
      continue;
    }
    int rank = site->second.rank;
    auto bound = mx::array(1.0f / std::sqrt(static_cast<float>(module.in)));
    auto key = random_key(seed, Stream::lora, static_cast<uint32_t>(i));
    mx::Shape a_shape{rank, module.in}, b_shape{module.out, rank};
    if (module.experts > 0) {
      a_shape.insert(a_shape.begin(), module.experts);
      b_shape.insert(b_shape.begin(), module.experts);
    }
    auto a = mx::random::uniform(-bound, bound, a_shape, mx::float32, key);
    auto b = mx::zeros(b_shape, mx::float32);
    mx::eval(a, b);
    adapter.params.emplace(lora_a(module.name), a);
    adapter.params.emplace(lora_b(module.name), b);
    if (site->second.dora) {
      auto w = mx::astype(module_floats(base.weights, module), mx::float32);
      auto lengths = dora_norms(w, a, b, site->second.scale);
      lengths.eval();
      adapter.params.emplace(lora_magnitude(module.name), lengths);
    }
  }
  for (const std::string& module : adapter.saved) {
    // A tied head begins as the embedding.
    auto weight = module == "lm_head"
                      ? base.model->head(base.weights)
                      : weight_of(base.weights, module, base.model->config().hidden);
    // A copy: training writes into it.
    auto floats = mx::copy(mx::astype(weight.dense(0, weight.out()), mx::float32));
    floats.eval();
    adapter.params.emplace(module + ".weight", floats);
  }
  return adapter;
}

}  // namespace atelier
