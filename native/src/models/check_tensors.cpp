#include "models/check_tensors.h"

#include "core/error.h"
#include "core/text.h"

namespace atelier {
namespace {

std::string shape_text(const mx::Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); i++) {
    out += (i ? ", " : "") + std::to_string(shape[i]);
  }
  return out + "]";
}

}  // namespace

void check_tensors(const Model& model, const TensorShapes& found, const std::string& where) {
  std::vector<TensorSpec> specs = model.tensors();
  const ModelConfig& c = model.config();
  if (c.tied && !c.scalar_head && found.count("lm_head.weight")) {
    specs.push_back({"lm_head.weight", {c.vocabulary, c.hidden}});
  }
  TensorShapes extra = found;
  for (const TensorSpec& spec : specs) {
    auto tensor = found.find(spec.name);
    if (tensor == found.end()) {
      throw Error(
          ErrorCode::invalid_file,
          where + ": tensor " + quoted(model.stored_name(spec.name)) + " is missing");
    }
    if (tensor->second != spec.shape) {
      throw Error(
          ErrorCode::invalid_file,
          where + ": tensor " + quoted(model.stored_name(spec.name)) + " is " +
              shape_text(tensor->second) + ", but the configuration asks for " +
              shape_text(spec.shape));
    }
    extra.erase(spec.name);
  }
  if (!extra.empty()) {
    throw Error(
        ErrorCode::invalid_file,
        where + ": tensor " + quoted(extra.begin()->first) + " (of " +
            std::to_string(extra.size()) + ") is none that the configuration asks for");
  }
}

}  // namespace atelier
