#include "models/merged.h"

#include "core/error.h"
#include "core/text.h"
#include "io/tensor.h"

#include <algorithm>

namespace atelier {
namespace {

constexpr const char* head = "lm_head.weight";
constexpr const char* embedding = "model.embed_tokens.weight";

}  // namespace

MergedCheckpoint::MergedCheckpoint(
    const std::string& base,
    const std::optional<std::string>& adapter_dir)
    : base_(open_checkpoint(base)), shapes_(base_->shapes()) {
  const ModelConfig& c = model().config();
  if (adapter_dir) {
    adapter_ = load_adapter(*adapter_dir, model().linears(), {c.vocabulary, c.hidden});
  }
  if (scalar_head()) {
    shapes_.erase(head);
    shapes_.insert_or_assign(scalar_head_name, mx::Shape{1, c.hidden});
  } else if (tied()) {
    shapes_.erase(head);
  } else {
    shapes_.insert_or_assign(head, mx::Shape{c.vocabulary, c.hidden});
  }
  find_additions();
}

// Adapters of a mixture may be written for each expert or for all, and so may its weights: rows of one product.
void MergedCheckpoint::find_additions() {
  const std::vector<LinearModule> modules = model().linears();
  std::map<std::string, std::vector<const LinearModule*>> adapted;
  for (const LinearModule& m : modules) {
    if (adapter_.sites.count(m.name)) {
      adapted[m.product].push_back(&m);
    }
  }
  for (const LinearModule& stored : modules) {
    if (!stored.stored) {
      continue;
    }
    for (const LinearModule* m : adapted[stored.product]) {
      const int from = std::max(m->row, stored.row);
      const int to = std::min(m->row + m->out, stored.row + stored.out);
      if (from >= to) {
        continue;
      }
      const Addition addition{*m, std::nullopt, from - m->row, to - m->row, from - stored.row};
      if (stored.kind == ModuleKind::each_expert) {
        for (int e = 0; e < stored.experts; e++) {
          Addition own = addition;
          own.expert = e;
          additions_[expert_name(stored.name, e) + ".weight"].push_back(own);
        }
      } else {
        const bool all = stored.kind == ModuleKind::all_experts;
        additions_[all ? stored.name : stored.name + ".weight"].push_back(addition);
      }
    }
  }
}

// On the CPU: a GPU may round f32 products to TF32.
mx::array MergedCheckpoint::added(const Addition& addition, const mx::Shape& shape) const {
  const std::string& name = addition.module.name;
  mx::array a = adapter_.params.at(lora_a(name)), b = adapter_.params.at(lora_b(name));
  if (addition.expert) {
    a = mx::take(a, *addition.expert, 0, mx::Device::cpu);
    b = mx::take(b, *addition.expert, 0, mx::Device::cpu);
  }
  mx::Shape start(b.ndim(), 0), stop = b.shape();
  start[b.ndim() - 2] = addition.from;
  stop[b.ndim() - 2] = addition.to;
  const mx::array delta = mx::multiply(
      mx::matmul(mx::slice(b, start, stop, mx::Device::cpu), a, mx::Device::cpu),
      mx::array(adapter_.sites.at(name).scale),
      mx::Device::cpu);
  const int rows = shape[shape.size() - 2],
            after = rows - addition.at - (addition.to - addition.from);
  return mx::pad(
      delta,
      std::vector<int>{-2},
      mx::Shape{addition.at},
      mx::Shape{after},
      mx::array(0.0f),
      "constant",
      mx::Device::cpu);
}

bool MergedCheckpoint::scalar_head() const {
  return model().config().scalar_head || adapter_.params.count(scalar_head_name) > 0;
}

bool MergedCheckpoint::tied() const {
  const auto& saved = adapter_.saved;
  const bool own_head = !saved.empty() && !adapter_.ensure_weight_tying;
  return model().config().tied && !own_head;
}

mx::array MergedCheckpoint::read(const std::string& name) const {
  if (adapter_.params.count(name)) {
    return adapter_.params.at(name);
  }
  // A head that the base ties stays the base's embedding.
  const std::string stored = name == head && !base_->shapes().count(head) ? embedding : name;
  mx::array value = base_->read(stored, mx::float32);
  auto found = additions_.find(name);
  if (found == additions_.end()) {
    return value;
  }
  for (const Addition& addition : found->second) {
    value = mx::add(value, added(addition, value.shape()), mx::Device::cpu);
    const std::string& module = addition.module.name;
    if (adapter_.sites.at(module).dora) {
      // DoRA is on matrices of their own (lora_sites), so these rows are all of the tensor's.
      const mx::array norms = mx::linalg::norm(value, 2.0, 1, true, mx::Device::cpu);
      const mx::array lengths = mx::expand_dims(adapter_.params.at(lora_magnitude(module)), 1);
      value = mx::multiply(value, mx::divide(lengths, norms, mx::Device::cpu), mx::Device::cpu);
    }
  }
  value.eval();
  checked_finite(value, "the merged model", name);
  return value;
}

}  // namespace atelier
