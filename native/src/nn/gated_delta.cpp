#include "nn/gated_delta.h"

#include "kernels/gated_delta.h"
#include "kernels/short_conv.h"
#include "nn/block.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

// Each vector divided by its length, times `scale`: an RMS norm whose weights are all scale / sqrt(D).
mx::array normalised(const mx::array& x, double scale) {
  const int D = x.shape(-1);
  const auto weight = static_cast<float>(scale / std::sqrt(static_cast<double>(D)));
  return rms_norm(mx::astype(x, mx::float32), mx::full({D}, weight), static_cast<float>(1e-6 / D));
}

}  // namespace

mx::array short_conv(const mx::array& x_BLC, const mx::array& w_CW, KvCache::Layer* layer) {
  const int B = x_BLC.shape(0), L = x_BLC.shape(1), C = x_BLC.shape(2), before = w_CW.shape(1) - 1;
  const mx::array past =
      layer && layer->tail ? *layer->tail : mx::zeros({B, before, C}, x_BLC.dtype());
  const mx::array x = mx::concatenate({past, x_BLC}, 1);
  if (layer) {
    // A copy: a view would keep the whole of x.
    layer->tail = mx::contiguous(mx::slice(x, {0, L, 0}, {B, before + L, C}));
  }
  return cpu_kernels_for(x) ? short_conv_cpu(x, w_CW) : short_conv_plain(x, w_CW);
}

mx::array gated_delta(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const mx::array& decay,
    const mx::array& beta,
    KvCache::Layer* layer) {
  auto exact = [](const mx::array& a) { return mx::astype(a, mx::float32); };
  const DeltaInput in{
      normalised(q, 1 / std::sqrt(static_cast<double>(q.shape(3)))),
      normalised(k, 1),
      exact(v),
      exact(decay),
      exact(beta),
      layer ? layer->state : std::nullopt};
  const DeltaOutput out = cpu_kernels_for(in.v) ? gated_delta_cpu(in) : gated_delta_plain(in);
  if (layer) {
    layer->state = out.state;
  }
  return out.y;
}

mx::array without_padding(const mx::array& x_BLD, const KvCache* cache) {
  const auto late = [&](int32_t start) { return start > cache->length; };
  if (!cache || std::none_of(cache->start.begin(), cache->start.end(), late)) {
    return x_BLD;
  }
  const int L = x_BLD.shape(1), from = cache->length;
  const mx::array slot = mx::reshape(mx::arange(from, from + L, mx::int32), {1, L});
  return mx::where(
      mx::expand_dims(
          mx::greater_equal(slot, mx::array(cache->start.begin(), {cache->rows(), 1}, mx::int32)),
          2),
      x_BLD,
      mx::array(0.0f, x_BLD.dtype()));
}

}  // namespace atelier
