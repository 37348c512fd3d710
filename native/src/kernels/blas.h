#pragma once

namespace atelier {

/** A matrix in row-major order; `transposed` reads it with rows and columns exchanged. */
struct Matrix {
  const float* data;
  int step;
  bool transposed = false;
};

/** Whether the CPU's BLAS can be called directly: not on macOS, where MLX's own products are as good. */
bool has_blas();

/**
 * c [m, n] (rows `step_c` apart) = alpha * a [m, k] b [k, n], or added to c. Runs on the calling thread alone:
 * OpenBLAS's own threads wait by spinning, which on a machine with other work was seen to be 30 times slower than
 * one thread. So it is given one, and kernels divide the work themselves.
 */
void sgemm(
    int m,
    int n,
    int k,
    float alpha,
    Matrix a,
    Matrix b,
    float* c,
    int step_c,
    bool add = false);

/** c [m, n] = a [m, k] b [k, n], summed over at most `depth` of k at a time (0: whole): each addition to c rounds. */
void sgemm_in_parts(int m, int n, int k, int depth, Matrix a, Matrix b, float* c, int step_c);

/**
 * Largest error of SmolLM2's logits 6.7e-5 whole, 5.6e-5 with 128, 4.0e-5 with 64 (scores in double). Gradients bear
 * the rounding of one long sum.
 */
constexpr int forward_depth = 64, gradient_depth = 0;

/** c [m, n] = a [m, k] bᵀ in double, b [n, k]. */
void dgemm_nt(int m, int n, int k, const double* a, const double* b, double* c);

}  // namespace atelier
