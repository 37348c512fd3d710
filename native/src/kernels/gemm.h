#pragma once

#include <cstdint>

namespace atelier {

/** A matrix whose number (i, j) lies at data[i * down + j * right]; one of the steps is 1. */
struct Strided {
  const float* data;
  int64_t down, right;

  /** From row i and column j on. */
  Strided from(int64_t i, int64_t j) const {
    return {data + i * down + j * right, down, right};
  }
};
/** Rows of `width` numbers, and their transpose. */
inline Strided rows_of(const float* data, int64_t width) {
  return {data, width, 1};
}
inline Strided columns_of(const float* data, int64_t width) {
  return {data, 1, width};
}

/**
 * Largest error of SmolLM2's logits 6.7e-5 whole, 5.6e-5 with 128, 4.0e-5 with 64 (scores in double). Gradients bear
 * the rounding of a longer sum.
 */
constexpr int forward_depth = 64, gradient_depth = 0;

/**
 * c [m, n] = a [m, k] b [k, n], or c += a b, on the calling thread; rows of c lie `step` apart. Each number is summed in
 * the order of k, `depth` of them at a time (0: all that are read at once), so it is the same whatever else the product
 * has: how a product is cut into rows and columns changes nothing.
 */
void gemm(
    int m,
    int n,
    int k,
    int depth,
    Strided a,
    Strided b,
    float* c,
    int64_t step,
    bool add = false);

/** The same on several threads; c's rows lie n apart. */
void gemm_divided(int m, int n, int k, int depth, Strided a, Strided b, float* c);

}  // namespace atelier
