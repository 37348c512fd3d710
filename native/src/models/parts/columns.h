#pragma once

#include "core/mlx.h"

namespace atelier {

/** a[..., from:to]. */
inline mx::array columns(const mx::array& a, int from, int to) {
  mx::Shape start(a.ndim(), 0), stop = a.shape();
  start.back() = from;
  stop.back() = to;
  return mx::slice(a, start, stop);
}

}  // namespace atelier
