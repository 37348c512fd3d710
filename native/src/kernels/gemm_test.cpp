// Against sums in double, at sizes that fill tiles and that do not, for each kind of processor that the machine runs.
#include "kernels/gemm.h"
#include "kernels/processor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace atelier;

namespace {

struct Numbers {
  std::mt19937 engine{7};

  int below(int n) {
    return static_cast<int>(engine() % static_cast<unsigned>(n));
  }
  std::vector<float> some(int count) {
    std::vector<float> out(count);
    for (float& x : out) {
      x = static_cast<float>(below(2001) - 1000) / 1000;
    }
    return out;
  }
};

}  // namespace

TEST_CASE("gemm: any size, order of operands and processor; nothing beside c is written") {
  const Processor before = processor();
  for (Processor kind : {Processor::common, Processor::avx2, Processor::avx512}) {
    if (kind > best_processor()) {
      continue;
    }
    use_processor(kind);
    Numbers random;
    for (int round = 0; round < 100; round++) {
      const int m = 1 + random.below(40), n = 1 + random.below(80), k = random.below(600);
      const bool turn_a = random.below(2), turn_b = random.below(2), add = random.below(2);
      const int depth = random.below(2) * forward_depth, step = n + 3;
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(k);
      const std::vector<float> a = random.some(m * k), b = random.some(k * n),
                               c = random.some(m * step);
      std::vector<float> made = c;
      gemm(
          m,
          n,
          k,
          depth,
          turn_a ? columns_of(a.data(), m) : rows_of(a.data(), k),
          turn_b ? columns_of(b.data(), k) : rows_of(b.data(), n),
          made.data(),
          step,
          add);
      double worst = 0;
      for (int i = 0; i < m; i++) {
        for (int j = 0; j < step; j++) {
          double sum = add || j >= n ? c[i * step + j] : 0;
          for (int l = 0; l < k && j < n; l++) {
            sum += double{a[turn_a ? l * m + i : i * k + l]} * b[turn_b ? j * k + l : l * n + j];
          }
          worst = std::max(worst, std::abs(sum - made[i * step + j]));
        }
      }
      CHECK(worst < 3e-5);
    }
  }
  use_processor(before);
}

TEST_CASE("gemm: a number is the same whatever rows and columns are beside it") {
  Numbers random;
  const int m = 37, n = 70, k = 300;
  const std::vector<float> a = random.some(m * k), b = random.some(k * n);
  std::vector<float> whole(m * n), part(1), divided(m * n);
  gemm(m, n, k, forward_depth, rows_of(a.data(), k), rows_of(b.data(), n), whole.data(), n);
  gemm_divided(m, n, k, forward_depth, rows_of(a.data(), k), rows_of(b.data(), n), divided.data());
  CHECK(whole == divided);
  for (int i = 0; i < m; i += 5) {
    for (int j = 0; j < n; j += 3) {
      gemm(
          1,
          1,
          k,
          forward_depth,
          rows_of(a.data() + i * k, k),
          rows_of(b.data() + j, n),
          part.data(),
          1);
      CHECK(part[0] == whole[i * n + j]);
    }
  }
}
