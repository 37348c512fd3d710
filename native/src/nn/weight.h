#pragma once

#include "core/params.h"

#include <optional>
#include <string>

namespace atelier {

/**
 * A weight matrix [out, in] of a product: floats, or quantised in MLX's affine form (mx::quantize), where groups of
 * a row share a scale and a bias. Bits and group size follow from the shapes, so they are kept nowhere else.
 */
class Weight {
 public:
  /** Floats [out, in]. */
  Weight(mx::array matrix) : matrix_(std::move(matrix)), in_(matrix_.shape(-1)) {}
  /** Packed uint32 [out, in * bits / 32], scales and biases [out, in / group]. */
  Weight(mx::array packed, mx::array scales, mx::array biases, int in);

  bool quantised() const {
    return scales_.has_value();
  }
  int out() const {
    return matrix_.shape(0);
  }
  int bits() const;
  int group() const;

  /** x [..., in] -> x Wᵀ [..., out]. */
  mx::array times(const mx::array& x) const;
  /** onto + times(x); one operation on CUDA, for floats. */
  mx::array times_onto(const mx::array& onto, const mx::array& x) const;
  /** times(x) in f32 of operands of any float type. No gradient on CUDA where they are not f32. */
  mx::array times_f32(const mx::array& x) const;
  /** g [..., out] -> g W [..., in]: the gradient of `times` by x. */
  mx::array back(const mx::array& g) const;
  /** Rows [..., in] at integer `ids` [...]. */
  mx::array rows(const mx::array& ids) const;
  /** Rows [from, to) as floats. */
  mx::array dense(int from, int to) const;
  /** The floats themselves; not of a quantised one. */
  const mx::array& floats() const {
    return matrix_;
  }
  /** Products in `dtype`: floats become it; a quantised one takes the type of what it is multiplied with. */
  Weight as(mx::Dtype dtype) const;

 private:
  mx::array matrix_;
  std::optional<mx::array> scales_, biases_;
  int in_;
};

/** `<name>.weight` of `weights`, with `<name>.scales` and `<name>.biases` where it is quantised. */
Weight weight_of(const Params& weights, const std::string& name, int in);

}  // namespace atelier
