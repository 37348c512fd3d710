#include "models/parts/experts.h"

#include "nn/linear.h"

namespace atelier {

Experts::Experts(ExpertsOptions options) : o_(std::move(options)) {
  if (o_.shared) {
    shared_.emplace(MlpOptions{o_.shared->at, o_.hidden, o_.shared->intermediate});
  }
}

std::vector<LinearModule> Experts::modules() const {
  const int D = o_.hidden, F = o_.intermediate;
  const std::string all = o_.at + "experts.", each = all + "*.";
  const std::string up = all + "gate_up_proj", down = all + "down_proj";
  const bool stored_each = o_.stored == ModuleKind::each_expert;
  auto of_each = [&](const char* name, const std::string& product, int in, int out, int row) {
    return LinearModule{
        each + name,
        product,
        in,
        out,
        row,
        false,
        ModuleKind::each_expert,
        o_.experts,
        stored_each};
  };
  auto of_all = [&](const std::string& name, int in, int out) {
    return LinearModule{
        name, name, in, out, 0, false, ModuleKind::all_experts, o_.experts, !stored_each};
  };
  std::vector<LinearModule> out{
      of_each("gate_proj", up, D, F, 0),
      of_each("up_proj", up, D, F, F),
      of_each("down_proj", down, F, D, 0),
      of_all(up, D, 2 * F),
      of_all(down, F, D)};
  if (shared_) {
    const std::vector<LinearModule> more = shared_->modules();
    out.insert(out.end(), more.begin(), more.end());
    if (!o_.shared->gate.empty()) {
      out.push_back({o_.shared->gate, o_.shared->gate, D, 1, 0});
    }
  }
  return out;
}

std::vector<TensorSpec> Experts::tensors() const {
  std::vector<TensorSpec> out = o_.router_tensors;
  out.push_back({o_.at + "gate.weight", {o_.experts, o_.hidden}});
  return out;
}

RowNumbers Experts::row_numbers() const {
  // Of each chosen expert: its input, gate, up and their product, its output twice (in its order and the token's).
  const uint64_t each = uint64_t{3} * o_.hidden + uint64_t{3} * o_.intermediate;
  RowNumbers out{0, o_.chosen * each + uint64_t{2} * o_.experts, 0};
  if (shared_) {
    out.kept_token += shared_->row_numbers().kept_token;
  }
  return out;
}

mx::array Experts::forward(
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass& pass) const {
  const mx::array x_ND = mx::reshape(x_BLD, {-1, o_.hidden});
  // In f32: a rounded logit sends a token elsewhere.
  const mx::array logits = product(
      mx::astype(x_ND, mx::float32), mx::astype(weights.at(o_.at + "gate.weight"), mx::float32));
  if (pass.router_logits) {
    pass.router_logits->push_back(logits);
  }
  mx::array y = experts_mlp(weights, lora, o_.at + "experts", x_ND, o_.route(weights, logits));
  if (shared_) {
    mx::array more = shared_->forward(weights, lora, x_ND, pass);
    if (!o_.shared->gate.empty()) {
      more = more * mx::sigmoid(linear(weights, lora, o_.shared->gate, x_ND));
    }
    y = y + more;
  }
  return mx::reshape(y, x_BLD.shape());
}

}  // namespace atelier
