// Shapes: B batch, H value heads, N chunks, C positions of a chunk, D key head, E value head.
#include "kernels/gated_delta.h"

#include <algorithm>

namespace atelier {
namespace {

mx::array transposed(const mx::array& a) {
  return mx::swapaxes(a, -1, -2);
}

// [B, L, h, X] -> [B, H, N, C, X], zeros behind L.
mx::array chunked(mx::array a, int H, int N, int C) {
  if (const int times = H / a.shape(2); times > 1) {
    a = mx::repeat(a, times, 2);
  }
  a = mx::transpose(a, {0, 2, 1, 3});
  if (const int after = N * C - a.shape(2); after > 0) {
    a = mx::pad(a, {{0, 0}, {0, 0}, {0, after}, {0, 0}}, mx::array(0.0f));
  }
  return mx::reshape(a, {a.shape(0), H, N, C, a.shape(3)});
}

mx::array chunk_of(const mx::array& a, int n) {
  mx::Shape from(a.ndim(), 0), to = a.shape();
  from[2] = n;
  to[2] = n + 1;
  return mx::squeeze(mx::slice(a, from, to), 2);
}

mx::array part(const mx::array& a, int row, int column, int size) {
  mx::Shape from(a.ndim(), 0), to = a.shape();
  from[a.ndim() - 2] = row;
  from[a.ndim() - 1] = column;
  to[a.ndim() - 2] = row + size;
  to[a.ndim() - 1] = column + size;
  return mx::slice(a, from, to);
}

// Inverse of I + m, m [..., C, C] strictly lower triangular, C a power of 2: blocks on the diagonal, twice as large
// each time. As exact as forward substitution; sums of powers of m are not, they grow before they vanish.
mx::array unit_lower_inverse(const mx::array& m) {
  const int C = m.shape(-1);
  mx::Shape lead(m.shape().begin(), m.shape().end() - 2);
  auto shaped = [&](std::initializer_list<int> last) {
    mx::Shape out = lead;
    for (const int n : last) {
      out.push_back(n);
    }
    return out;
  };
  mx::array inverse = mx::ones(shaped({C, 1, 1}));
  const int at = m.ndim() - 2;
  for (int s = 1; s < C; s *= 2) {
    const int blocks = C / (2 * s);
    const mx::array diagonal = mx::moveaxis(
        mx::diagonal(mx::reshape(m, shaped({blocks, 2 * s, blocks, 2 * s})), 0, at, at + 2),
        -1,
        at);
    const std::vector<mx::array> two =
        mx::split(mx::reshape(inverse, shaped({blocks, 2, s, s})), 2, at + 1);
    const mx::array upper = mx::squeeze(two[0], at + 1), lower = mx::squeeze(two[1], at + 1);
    const mx::array corner =
        mx::negative(mx::matmul(lower, mx::matmul(part(diagonal, s, 0, s), upper)));
    inverse = mx::concatenate(
        {mx::concatenate({upper, mx::zeros_like(upper)}, -1), mx::concatenate({corner, lower}, -1)},
        -2);
  }
  return mx::squeeze(inverse, at);
}

}  // namespace

DeltaOutput gated_delta_plain(const DeltaInput& in) {
  const int B = in.v.shape(0), L = in.v.shape(1), H = in.v.shape(2), E = in.v.shape(3);
  const int D = in.k.shape(3);
  const bool channels = in.decay.shape(3) > 1;
  // With a decay for each channel every pair of positions takes D numbers.
  int C = 1;
  while (C < std::min(L, channels ? 16 : 64)) {
    C *= 2;
  }
  const int N = (L + C - 1) / C;
  const mx::array q = chunked(in.q, H, N, C), k = chunked(in.k, H, N, C),
                  v = chunked(in.v, H, N, C);
  const mx::array beta = chunked(mx::expand_dims(in.beta, 3), H, N, C);
  const mx::array total = mx::cumsum(chunked(in.decay, H, N, C), 3);

  // exp of the decay between two positions j <= i; what lies above is masked before exp, where it would overflow.
  const mx::array between = mx::expand_dims(total, 4) - mx::expand_dims(total, 3);
  const mx::array seen = mx::reshape(mx::tri(C, C, 0, mx::bool_), {C, C, 1});
  const mx::array decayed = mx::exp(mx::where(seen, between, mx::array(-1e30f)));
  auto pairs = [&](const mx::array& a) {
    return channels ? mx::sum(mx::expand_dims(a, 4) * mx::expand_dims(k, 3) * decayed, -1)
                    : mx::matmul(a, transposed(k)) * mx::squeeze(decayed, -1);
  };
  const mx::array from_start = mx::exp(total);
  const mx::array k_beta = k * beta;
  const mx::array below = mx::tri(C, C, -1, mx::float32);
  const mx::array solved = unit_lower_inverse(pairs(k_beta) * below);
  // What positions write where the state before the chunk is 0, and what of it they would read back.
  const mx::array written = mx::matmul(solved, v * beta);
  const mx::array read = mx::matmul(solved, k_beta * from_start);
  const mx::array attention = pairs(q);
  const mx::array q_start = q * from_start;
  const mx::array last = mx::slice(total, {0, 0, 0, C - 1, 0}, total.shape());
  const mx::array k_end = transposed(k * mx::exp(last - total));
  const mx::array decay_all = transposed(mx::exp(last));

  mx::array state = in.state ? *in.state : mx::zeros({B, H, D, E});
  std::vector<mx::array> y;
  for (int n = 0; n < N; n++) {
    const mx::array now = chunk_of(written, n) - mx::matmul(chunk_of(read, n), state);
    y.push_back(mx::matmul(chunk_of(q_start, n), state) + mx::matmul(chunk_of(attention, n), now));
    state = state * chunk_of(decay_all, n) + mx::matmul(chunk_of(k_end, n), now);
  }
  const mx::array all = y.size() == 1 ? y[0] : mx::concatenate(y, 2);
  return {mx::transpose(mx::slice(all, {0, 0, 0, 0}, {B, H, L, E}), {0, 2, 1, 3}), state};
}

}  // namespace atelier
