// Shapes: P prompts, L slots, V vocabulary.
#include "infer/prefill.h"

#include <algorithm>

namespace atelier {
namespace {

// Queries of one forward; their attention scores are H * chunk * length.
constexpr int chunk = 512;

// One batch, padded on the left: all prompts end in the same slot.
Prefilled prefill_batch(
    const Model& model,
    const Params& weights,
    const Params& lora,
    const std::vector<const std::vector<int32_t>*>& prompts) {
  size_t L = 0;
  for (const auto* p : prompts) {
    L = std::max(L, p->size());
  }
  const int P = static_cast<int>(prompts.size());
  std::vector<int32_t> ids, start;
  for (const auto* p : prompts) {
    start.push_back(static_cast<int32_t>(L - p->size()));
    ids.insert(ids.end(), L - p->size(), 0);
    ids.insert(ids.end(), p->begin(), p->end());
  }
  const mx::array ids_PL(ids.begin(), {P, static_cast<int>(L)}, mx::int32);
  KvCache cache(model.config().layers, std::move(start));
  for (int from = 0;; from += chunk) {
    const int to = std::min(from + chunk, static_cast<int>(L));
    const mx::array h = model.hidden(weights, lora, mx::slice(ids_PL, {0, from}, {P, to}), &cache);
    if (to == static_cast<int>(L)) {
      cache.alike_until.assign(P, to);
      const mx::array last = mx::slice(h, {0, to - from - 1, 0}, {P, to - from, h.shape(2)});
      return {std::move(cache), model.logits(weights, mx::squeeze(last, 1))};
    }
    mx::eval(cache.arrays());
  }
}

}  // namespace

Prefilled prefill(
    const Model& model,
    const Params& weights,
    const Params& lora,
    const std::vector<const std::vector<int32_t>*>& prompts,
    int tokens_at_once) {
  std::vector<KvCache> caches;
  std::vector<mx::array> logits;
  for (size_t from = 0; from < prompts.size();) {
    size_t to = from, longest = 0;
    while (to < prompts.size()) {
      longest = std::max(longest, prompts[to]->size());
      if (to > from && longest * (to + 1 - from) > static_cast<size_t>(tokens_at_once)) {
        break;
      }
      to++;
    }
    Prefilled part =
        prefill_batch(model, weights, lora, {prompts.begin() + from, prompts.begin() + to});
    mx::eval(part.logits);
    caches.push_back(std::move(part.cache));
    logits.push_back(part.logits);
    from = to;
  }
  return {join_rows(caches), logits.size() == 1 ? logits[0] : mx::concatenate(logits, 0)};
}

}  // namespace atelier
