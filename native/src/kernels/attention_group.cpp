#include "kernels/attention_group.h"

#include "kernels/processor.h"

#include <vector>

#define ATELIER_LOOPS "kernels/loops/attention.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

// What queries do not see is nearly half of the work: products are cut into blocks of so many, up to the last slot that
// a block sees, or from the first query on that sees one of a block of slots.
constexpr int block = 32;

// y = p x, for one query head; x [S, E].
void over_slots(const AttentionGroup& z, const float* p, Strided x, float* y, int64_t step) {
  for (int l = 0; l < z.L; l += block) {
    const int rows = std::min(block, z.L - l), seen = z.S - z.L + l + rows;
    gemm(rows, z.E, seen, 0, rows_of(p + int64_t{l} * z.S, z.S), x, y + l * step, step);
  }
}

// y [S, E] = pᵀ x over all query heads.
void over_queries(
    const AttentionGroup& z,
    const float* p,
    HeadRows<const float> x,
    float* y,
    int64_t step) {
  const int before = z.S - z.L;
  for (int s = 0; s < z.S; s += block) {
    const int slots = std::min(block, z.S - s), first = std::max(0, s - before);
    for (int g = 0; g < z.G; g++) {
      gemm(
          slots,
          z.E,
          z.L - first,
          0,
          columns_of(p + (int64_t{g} * z.L + first) * z.S + s, z.S),
          rows_of(x.data + g * x.head + first * x.row, x.row),
          y + s * step,
          step,
          g > 0);
    }
  }
}

}  // namespace

void attend_group(
    const AttentionGroup& z,
    const float* q,
    const float* k,
    Strided v,
    float* p,
    HeadRows<float> y) {
  thread_local std::vector<double> wide;
  wide.resize(size_t(z.S + most_lanes) * z.E);
  ATELIER_LOOP(scores)(q, k, p, z.G, z.L, z.S, z.E, z.scale, wide.data());
  ATELIER_LOOP(softmax_rows)(p, z.G, z.L, z.S, z.start, z.window);
  for (int g = 0; g < z.G; g++) {
    over_slots(z, p + int64_t{g} * z.L * z.S, v, y.data + g * y.head, y.row);
  }
}

void attend_group_vjp(
    const AttentionGroup& z,
    const float* q,
    const float* k,
    Strided v,
    const float* p,
    HeadRows<const float> g,
    float* dq,
    float* dk,
    float* dv,
    int64_t v_step) {
  thread_local std::vector<float> ds;
  ds.resize(size_t(z.G) * z.L * z.S);
  over_queries(z, p, g, dv, v_step);
  for (int head = 0; head < z.G; head++) {
    for (int l = 0; l < z.L; l += block) {
      const int rows = std::min(block, z.L - l);
      gemm(
          rows,
          z.S - z.L + l + rows,
          z.E,
          0,
          rows_of(g.data + head * g.head + l * g.row, g.row),
          {v.data, 1, v.down},
          ds.data() + (int64_t{head} * z.L + l) * z.S,
          z.S);
    }
  }
  ATELIER_LOOP(softmax_rows_vjp)(
      p, ds.data(), z.G, z.L, z.S, z.start, z.window, static_cast<float>(z.scale));
  for (int head = 0; head < z.G; head++) {
    const int64_t at = int64_t{head} * z.L;
    over_slots(z, ds.data() + at * z.S, rows_of(k, z.E), dq + at * z.E, z.E);
  }
  over_queries(z, ds.data(), {q, int64_t{z.L} * z.E, z.E}, dk, z.E);
}

}  // namespace atelier
