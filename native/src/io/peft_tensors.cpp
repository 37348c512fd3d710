// Shapes: E experts, R rank, I in, O out.
#include "io/peft_tensors.h"

#include "core/error.h"
#include "core/text.h"

#include <functional>

namespace atelier {
namespace {

const std::string prefix = "base_model.model.";

std::string owner(const LinearModule& m) {
  return m.name.substr(0, m.name.rfind('.'));
}

/** Which tensors of a file hold the adapter of one module. */
struct InFile {
  const LinearModule* module;
  /** Names without lora_A or lora_B; one for each expert of a module of experts. */
  std::vector<std::string> names;
};

std::vector<InFile> found_in_file(
    const std::vector<LinearModule>& modules,
    const std::function<bool(const LinearModule&)>& adapted) {
  std::vector<InFile> out;
  for (size_t i = 0; i < modules.size(); i++) {
    const LinearModule& m = modules[i];
    if (!adapted(m)) {
      continue;
    }
    InFile entry{&m, {}};
    if (m.kind == ModuleKind::linear) {
      entry.names = {prefix + m.name};
    } else if (m.kind == ModuleKind::each_expert) {
      for (int e = 0; e < m.experts; e++) {
        entry.names.push_back(prefix + expert_name(m.name, e));
      }
    } else {
      std::string name = prefix + owner(m);
      for (size_t next = i + 1; next < modules.size() && owner(modules[next]) == owner(m); next++) {
        name += modules[next].kind == m.kind && adapted(modules[next]) ? ".base_layer" : "";
      }
      entry.names = {name};
    }
    out.push_back(std::move(entry));
  }
  return out;
}

// Parameters [E, R, I] and [E, O, R] of all experts as a file has them, [E R, I] and [O, R E], and back.
mx::array flat_a(const mx::array& a) {
  return mx::reshape(a, {-1, a.shape(2)});
}
mx::array flat_b(const mx::array& b) {
  return mx::reshape(mx::transpose(b, {1, 2, 0}), {b.shape(1), -1});
}
mx::array whole_a(const mx::array& a, int experts) {
  return mx::reshape(a, {experts, -1, a.shape(1)});
}
mx::array whole_b(const mx::array& b, int experts) {
  return mx::transpose(mx::reshape(b, {b.shape(0), -1, experts}), {2, 0, 1});
}

std::string shape_text(const mx::Shape& shape) {
  std::string out;
  for (const int n : shape) {
    out += (out.empty() ? "[" : ", ") + std::to_string(n);
  }
  return out + "]";
}

mx::array of_expert(const mx::array& all, int expert) {
  return mx::take(all, expert, 0);
}

}  // namespace

Params peft_tensors(const Params& params, const std::vector<LinearModule>& modules) {
  Params out;
  const auto files = found_in_file(
      modules, [&](const LinearModule& m) { return params.count(lora_a(m.name)) > 0; });
  for (const auto& [m, names] : files) {
    const mx::array &a = params.at(lora_a(m->name)), &b = params.at(lora_b(m->name));
    for (int e = 0; e < static_cast<int>(names.size()); e++) {
      const bool each = m->kind == ModuleKind::each_expert;
      const bool all = m->kind == ModuleKind::all_experts;
      out.emplace(lora_a(names[e]), each ? of_expert(a, e) : all ? flat_a(a) : a);
      out.emplace(lora_b(names[e]), each ? of_expert(b, e) : all ? flat_b(b) : b);
    }
    if (auto lengths = params.find(lora_magnitude(m->name)); lengths != params.end()) {
      out.emplace(lora_magnitude(names[0]), lengths->second);
    }
  }
  for (const char* name : {"lm_head.weight", "model.embed_tokens.weight"}) {
    if (auto saved = params.find(name); saved != params.end()) {
      out.emplace(prefix + name, saved->second);
    }
  }
  if (auto head = params.find(scalar_head_name); head != params.end()) {
    out.emplace(prefix + scalar_head_name, head->second);
  }
  return out;
}

bool holds_experts(const Params& tensors, const LinearModule& module) {
  for (int e = 0; e < module.experts; e++) {
    const std::string name = prefix + expert_name(module.name, e);
    if (tensors.count(lora_a(name)) || tensors.count(lora_b(name))) {
      return true;
    }
  }
  return false;
}

Params adapter_params(
    Params tensors,
    const LoraSites& sites,
    const std::map<std::string, mx::Shape>& whole,
    const std::vector<LinearModule>& modules,
    const std::string& file) {
  auto take = [&](const std::string& name, const mx::Shape& shape) {
    auto found = tensors.find(name);
    if (found == tensors.end()) {
      throw Error(ErrorCode::invalid_file, file + ": tensor " + quoted(name) + " is missing");
    }
    if (found->second.shape() != shape) {
      throw Error(
          ErrorCode::invalid_file,
          file + ": tensor " + quoted(name) + " must be " + shape_text(shape) +
              " for this model and configuration");
    }
    mx::array out = found->second;
    tensors.erase(found);
    return out;
  };
  Params out;
  const auto files =
      found_in_file(modules, [&](const LinearModule& m) { return sites.count(m.name) > 0; });
  for (const auto& [m, names] : files) {
    const int R = sites.at(m->name).rank;
    if (m->kind == ModuleKind::all_experts) {
      const int E = m->experts;
      out.emplace(lora_a(m->name), whole_a(take(lora_a(names[0]), {E * R, m->in}), E));
      out.emplace(lora_b(m->name), whole_b(take(lora_b(names[0]), {m->out, R * E}), E));
      continue;
    }
    std::vector<mx::array> a, b;
    for (const std::string& name : names) {
      a.push_back(take(lora_a(name), {R, m->in}));
      b.push_back(take(lora_b(name), {m->out, R}));
    }
    const bool each = m->kind == ModuleKind::each_expert;
    out.emplace(lora_a(m->name), each ? mx::stack(a) : a[0]);
    out.emplace(lora_b(m->name), each ? mx::stack(b) : b[0]);
    if (sites.at(m->name).dora) {
      out.emplace(lora_magnitude(m->name), take(lora_magnitude(names[0]), {m->out}));
    }
  }
  for (const auto& [name, shape] : whole) {
    out.emplace(name, take(prefix + name, shape));
  }
  if (auto head = tensors.find(prefix + scalar_head_name); head != tensors.end()) {
    // One label; its width is the model's, which who loads it knows.
    const int width = head->second.ndim() == 0 ? 0 : head->second.shape(-1);
    out.emplace(scalar_head_name, take(prefix + scalar_head_name, {1, width}));
  }
  if (!tensors.empty()) {
    throw Error(
        ErrorCode::invalid_file,
        file + ": tensor " + quoted(tensors.begin()->first) + " belongs to no adapted module");
  }
  return out;
}

}  // namespace atelier
