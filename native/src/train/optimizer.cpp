#include "train/optimizer.h"

#include "core/error.h"
#include "io/safetensors.h"

namespace atelier {
namespace {

constexpr const char* steps_key = "adamw_steps";

bool has_own_masters(const Trainable& t) {
  return t.full() && t.model().dtype != mx::float32;
}

void add(Params& tensors, const std::string& prefix, const Params& values) {
  for (const auto& [name, array] : values) {
    tensors.emplace(prefix + name, mx::contiguous(array));
  }
}

Params take(const Params& tensors, const std::string& prefix) {
  Params values;
  for (auto at = tensors.lower_bound(prefix);
       at != tensors.end() && at->first.rfind(prefix, 0) == 0;
       ++at) {
    values.emplace(at->first.substr(prefix.size()), at->second);
  }
  return values;
}

int64_t read_steps(const std::string& file) {
  auto metadata = read_safetensors_header(file).metadata;
  auto at = metadata.find(steps_key);
  if (at == metadata.end() || at->second.empty() || at->second.size() > 15 ||
      at->second.find_first_not_of("0123456789") != std::string::npos) {
    throw Error(
        ErrorCode::invalid_file,
        file + ": its metadata has no count '" + steps_key + "'; not an optimiser's file");
  }
  return std::stoll(at->second);
}

}  // namespace

Optimizer::Optimizer(Trainable what, const AdamWSpec& how)
    : trainable(std::move(what)), spec(how), state(adamw_state(trainable.masters())) {}

void save_optimizer(const Optimizer& o, const std::string& file) {
  Params tensors;
  add(tensors, "m.", o.trainable.by_name(o.state.m));
  add(tensors, "v.", o.trainable.by_name(o.state.v));
  if (has_own_masters(o.trainable)) {
    add(tensors, "master.", o.trainable.by_name(o.trainable.masters()));
  }
  save_safetensors(file, tensors, {{steps_key, std::to_string(o.state.steps)}});
}

void load_optimizer(Optimizer& o, const std::string& file) {
  AdamWState state;
  state.steps = read_steps(file);
  auto tensors = load_safetensors(file, mx::float32);
  state.m = o.trainable.in_order(take(tensors, "m."), file);
  state.v = o.trainable.in_order(take(tensors, "v."), file);
  mx::eval(state.m);
  mx::eval(state.v);
  if (has_own_masters(o.trainable)) {
    auto masters = o.trainable.in_order(take(tensors, "master."), file);
    mx::eval(masters);
    o.trainable.assign(std::move(masters));
  }
  o.state = std::move(state);
}

}  // namespace atelier
