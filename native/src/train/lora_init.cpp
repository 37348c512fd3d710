#include "train/lora_init.h"

#include "core/random.h"

#include <cmath>

namespace atelier {

Adapter
init_adapter(const LoraConfig& config, const std::vector<LinearModule>& modules, uint64_t seed) {
  Adapter adapter{lora_sites(config, modules), {}};
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
  }
  return adapter;
}

}  // namespace atelier
