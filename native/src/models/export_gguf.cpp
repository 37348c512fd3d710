#include "models/export_gguf.h"

#include "core/error.h"
#include "core/text.h"
#include "models/gguf_form.h"
#include "models/gguf_names.h"

namespace atelier {
namespace {

// llama.cpp rotates neighbours in Llama and what derives from it; transformers halves.
mx::array permuted(const mx::array& w, int heads) {
  const int rows = w.shape(0), in = w.shape(1);
  return mx::reshape(
      mx::transpose(mx::reshape(w, {heads, 2, rows / heads / 2, in}), {0, 2, 1, 3}), {rows, in});
}

// A tensor of transformers' names as llama.cpp holds it.
mx::array as_stored(
    const mx::array& value,
    const std::string& name,
    const std::string& family,
    const GgufForm& form) {
  if (rotates_neighbours(family) && name.ends_with("q_proj.weight")) {
    return permuted(value, form.heads);
  }
  if (rotates_neighbours(family) && name.ends_with("k_proj.weight")) {
    return permuted(value, form.kv_heads);
  }
  return stores_one_plus_norms(family) && name.ends_with("norm.weight") ? value + mx::array(1.0f)
                                                                        : value;
}

// As llama.cpp's converter chooses it: vectors and the router stay exact.
std::string type_of(const std::string& tensor, const mx::Shape& shape, const std::string& type) {
  return shape.size() == 1 || tensor.ends_with("ffn_gate_inp.weight") ? "F32"
         : type == "Q8_0" && shape.back() % 32 != 0                   ? "F16"
                                                                      : type;
}

// The same tensor of another expert than the first.
std::string of_expert(std::string name, int expert) {
  const std::string first = ".experts.0.";
  return name.replace(name.find(first), first.size(), ".experts." + std::to_string(expert) + ".");
}

}  // namespace

void export_gguf(
    const MergedCheckpoint& merged,
    const std::string& file,
    const std::string& type,
    std::vector<GgufEntry> text,
    const std::atomic<bool>& cancelled) {
  const ModelConfig& c = merged.model().config();
  if (merged.scalar_head()) {
    throw Error(
        ErrorCode::unsupported_model,
        "a reward model cannot be written as GGUF",
        "Export it merged, as safetensors, or as an adapter.");
  }
  GgufForm form = gguf_form(c, type);
  const auto names = gguf_names(c.family, c.layers, form.experts);
  std::vector<GgufToWrite> tensors;
  if (!form.divisors.empty()) {
    const int count = static_cast<int>(form.divisors.size());
    tensors.push_back({gguf_rope_scaling, "F32", {count}, [&, count] {
                         return mx::array(form.divisors.begin(), {count}, mx::float32);
                       }});
  }
  auto read = [&](const std::string& name) {
    if (cancelled) {
      throw Error(ErrorCode::cancelled, "export: cancelled");
    }
    return as_stored(merged.read(name), name, c.family, form);
  };
  for (const auto& [name, shape] : merged.shapes()) {
    auto found = names.find(name);
    if (found == names.end()) {
      throw Error(
          ErrorCode::unsupported_model, "tensor " + quoted(name) + " has no name in GGUF here");
    }
    const auto& [tensor, expert] = found->second;
    const std::string as = type_of(tensor, shape, type);
    if (expert < 0) {
      tensors.push_back({tensor, as, shape, [&, name = name] { return read(name); }});
    } else if (expert == 0) {
      tensors.push_back({tensor, as, {form.experts, shape[0], shape[1]}, [&, name = name] {
                           std::vector<mx::array> all;
                           for (int e = 0; e < form.experts; e++) {
                             all.push_back(read(of_expert(name, e)));
                           }
                           return mx::stack(all);
                         }});
    }
  }
  form.metadata.insert(
      form.metadata.end(),
      std::make_move_iterator(text.begin()),
      std::make_move_iterator(text.end()));
  write_gguf(file, form.metadata, tensors);
}

}  // namespace atelier
