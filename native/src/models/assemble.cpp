#include "models/assemble.h"

namespace atelier {

LoadedModel assemble(std::shared_ptr<const Model> model, Params tensors, mx::Dtype dtype) {
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
