#include "models/assemble.h"

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

// Exactly the tensors that the configuration asks for, in its shapes.
void check_tensors(const Model& model, const Params& tensors, const std::string& where) {
  size_t found = 0;
  for (const TensorSpec& spec : model.tensors()) {
    auto tensor = tensors.find(spec.name);
    if (tensor == tensors.end()) {
      throw Error(ErrorCode::invalid_file, where + ": tensor " + quoted(spec.name) + " is missing");
    }
    if (tensor->second.shape() != spec.shape) {
      throw Error(
          ErrorCode::invalid_file,
          where + ": tensor " + quoted(spec.name) + " is " + shape_text(tensor->second.shape()) +
              ", but the configuration asks for " + shape_text(spec.shape));
    }
    found++;
  }
  if (found == tensors.size()) {
    return;
  }
  Params extra = tensors;
  for (const TensorSpec& spec : model.tensors()) {
    extra.erase(spec.name);
  }
  throw Error(
      ErrorCode::invalid_file,
      where + ": tensor " + quoted(extra.begin()->first) + " (of " + std::to_string(extra.size()) +
          ") is none that the configuration asks for");
}

}  // namespace

LoadedModel assemble(
    std::shared_ptr<const Model> model,
    Params tensors,
    mx::Dtype dtype,
    const std::string& where) {
  check_tensors(*model, tensors, where);
  LoadedModel out{model, model->stack(tensors), dtype};
  // Products of several modules are copies: evaluated one by one, with their parts let go, they are not all
  // alive twice.
  tensors.clear();
  for (auto& [name, value] : out.weights) {
    mx::eval(value);
  }
  return out;
}

}  // namespace atelier
