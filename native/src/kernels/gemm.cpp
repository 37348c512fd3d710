#include "kernels/gemm.h"

#include "kernels/parallel.h"
#include "kernels/processor.h"

#include <algorithm>

namespace atelier {
namespace {

// Rows of b in a panel: of 32 columns it takes 32 KiB.
constexpr int panel_rows = 256;

struct Product {
  int m, n, k, depth;
  Strided a, b;
  float* c;
  int64_t step;
  bool add;
};

}  // namespace
}  // namespace atelier

#define ATELIER_LOOPS "kernels/loops/gemm.h"
#include "kernels/loops/processors.h"

namespace atelier {

void gemm(int m, int n, int k, int depth, Strided a, Strided b, float* c, int64_t step, bool add) {
  alignas(64) thread_local float packed[panel_rows * 2 * most_lanes];
  if (k == 0) {
    for (int r = 0; r < m && !add; r++) {
      std::fill(c + r * step, c + r * step + n, 0.0f);
    }
    return;
  }
  ATELIER_LOOP(product)({m, n, k, depth, a, b, c, step, add}, packed);
}

void gemm_divided(int m, int n, int k, int depth, Strided a, Strided b, float* c) {
  if (m == 0 || n == 0) {
    return;
  }
  // So many rows of a stay in the second cache while all of b goes by; b is packed again for each of them.
  constexpr int64_t most_rows = 256;
  constexpr int64_t work = 1'000'000;  // multiply-adds that are worth a thread
  constexpr int panel = 2 * most_lanes;
  const int64_t downs = std::max<int64_t>(1, (m + most_rows - 1) / most_rows);
  const int64_t height = (m + downs - 1) / downs;
  const int64_t all = height * n * std::max(1, k);
  const int64_t rights =
      std::clamp<int64_t>(all / work, 1, std::max<int64_t>(1, std::min<int64_t>(n / panel, 16)));
  const int64_t width = ((n + rights - 1) / rights + panel - 1) / panel * panel;
  const int64_t across = std::max<int64_t>(1, (n + width - 1) / width);
  parallel_for(static_cast<int>(downs * across), 1, [&](int from, int to) {
    for (int64_t piece = from; piece < to; piece++) {
      const int64_t i = piece / across * height, j = piece % across * width;
      gemm(
          static_cast<int>(std::min<int64_t>(height, m - i)),
          static_cast<int>(std::min<int64_t>(width, n - j)),
          k,
          depth,
          a.from(i, 0),
          b.from(0, j),
          c + i * n + j,
          n);
    }
  });
}

}  // namespace atelier
