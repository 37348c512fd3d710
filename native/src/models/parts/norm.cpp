#include "models/parts/norm.h"

namespace atelier {

TensorSpec RmsNorm::tensor() const {
  return {name + ".weight", {size}, one_plus ? Fill::zeros : Fill::ones};
}

mx::array RmsNorm::factor(const Params& weights) const {
  const mx::array& w = weights.at(name + ".weight");
  // In f32: 1 + w in bf16 would lose most of w.
  return one_plus ? mx::astype(w, mx::float32) + mx::array(1.0f) : w;
}

mx::array RmsNorm::operator()(const Params& weights, const mx::array& x) const {
  return mx::astype(rms_norm(x, factor(weights), epsilon), x.dtype());
}

NormBranch RmsNorm::branch(const Params& weights, const mx::array& x) const {
  const NormBranch out = rms_norm_branch(x, factor(weights), epsilon);
  return {out.x, mx::astype(out.normed, x.dtype())};
}

}  // namespace atelier
