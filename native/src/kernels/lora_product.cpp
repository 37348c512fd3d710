// Shapes: N rows, I in, O out, R ranks.
#include "kernels/lora_product.h"

#include "kernels/gemm.h"
#include "kernels/parallel.h"

#include <algorithm>
#include <cstdint>

namespace atelier {
namespace {

// Rows that go through all products at once: what they give stays in the cache. Each block packs the matrices again.
int block_rows(int N) {
  constexpr int least = 32, most = 256, blocks = 8;
  return std::clamp((N / blocks + 15) / 16 * 16, least, most);
}

struct Sizes {
  int N, I, O, R;

  Sizes(const mx::array& x, const mx::array& a, const mx::array& b)
      : N(static_cast<int>(x.size() / x.shape(-1))), I(x.shape(-1)), O(b.shape(0)), R(a.shape(0)) {}
};

// Few rows: columns are divided, and each piece makes h for itself.
constexpr int few_rows = 16;

void forward(
    const Sizes& z,
    const float* x,
    const float* w,
    const float* a,
    const float* b,
    const float* onto,
    float* y,
    float* h) {
  const auto block = [&](int from, int rows, int left, int right, float* h_rows) {
    const float* x_rows = x + int64_t{from} * z.I;
    float* y_rows = y + int64_t{from} * z.O + left;
    gemm(rows, z.R, z.I, forward_depth, rows_of(x_rows, z.I), columns_of(a, z.I), h_rows, z.R);
    const int width = right - left;
    gemm(
        rows,
        width,
        z.I,
        forward_depth,
        rows_of(x_rows, z.I),
        columns_of(w + int64_t{left} * z.I, z.I),
        y_rows,
        z.O);
    gemm(
        rows,
        width,
        z.R,
        forward_depth,
        rows_of(h_rows, z.R),
        columns_of(b + int64_t{left} * z.R, z.R),
        y_rows,
        z.O,
        true);
    for (int r = 0; onto && r < rows; r++) {
      const float* more = onto + int64_t{from + r} * z.O + left;
      float* to = y_rows + int64_t{r} * z.O;
      for (int i = 0; i < width; i++) {
        to[i] += more[i];
      }
    }
  };
  if (z.N > few_rows) {
    parallel_for(z.N, block_rows(z.N), [&](int from, int to) {
      block(from, to - from, 0, z.O, h + int64_t{from} * z.R);
    });
    return;
  }
  constexpr int work = 1'000'000;
  const int columns = std::max(64, (work / std::max(1, z.N * z.I) + 31) / 32 * 32);
  parallel_for(z.O, columns, [&](int from, int to) {
    if (from == 0) {
      return block(0, z.N, from, to, h);
    }
    std::vector<float> own(size_t(z.N) * z.R);
    block(0, z.N, from, to, own.data());
  });
}

// dx = g W + (g B) A, dA = (g B)ᵀ x, dB = gᵀ h; dx null: not wanted.
void backward(
    const Sizes& z,
    const float* g,
    const float* x,
    const float* h,
    const float* w,
    const float* a,
    const float* b,
    float* dx,
    float* da,
    float* db) {
  const int height = block_rows(z.N), blocks = (z.N + height - 1) / height;
  const size_t of_a = size_t(z.R) * z.I, of_b = size_t(z.O) * z.R;
  // Of each block but the first, the gradients of A and B, summed in the order of the blocks.
  std::vector<float> parts((of_a + of_b) * std::max(0, blocks - 1));
  parallel_for(z.N, height, [&](int from, int to) {
    thread_local std::vector<float> gb;
    const int rows = to - from, block = from / height;
    gb.resize(size_t(rows) * z.R);
    const float *g_rows = g + int64_t{from} * z.O, *x_rows = x + int64_t{from} * z.I,
                *h_rows = h + int64_t{from} * z.R;
    gemm(rows, z.R, z.O, gradient_depth, rows_of(g_rows, z.O), rows_of(b, z.R), gb.data(), z.R);
    if (dx) {
      float* to_x = dx + int64_t{from} * z.I;
      gemm(rows, z.I, z.O, gradient_depth, rows_of(g_rows, z.O), rows_of(w, z.I), to_x, z.I);
      gemm(
          rows,
          z.I,
          z.R,
          gradient_depth,
          rows_of(gb.data(), z.R),
          rows_of(a, z.I),
          to_x,
          z.I,
          true);
    }
    float* to_a = block == 0 ? da : parts.data() + (block - 1) * (of_a + of_b);
    float* to_b = block == 0 ? db : to_a + of_a;
    gemm(
        z.R,
        z.I,
        rows,
        gradient_depth,
        columns_of(gb.data(), z.R),
        rows_of(x_rows, z.I),
        to_a,
        z.I);
    gemm(z.O, z.R, rows, gradient_depth, columns_of(g_rows, z.O), rows_of(h_rows, z.R), to_b, z.R);
  });
  for (int block = 1; block < blocks; block++) {
    const float* part = parts.data() + (block - 1) * (of_a + of_b);
    for (size_t i = 0; i < of_a; i++) {
      da[i] += part[i];
    }
    for (size_t i = 0; i < of_b; i++) {
      db[i] += part[of_a + i];
    }
  }
}

}  // namespace

mx::array lora_product_plain(const LoraProduct& p) {
  const mx::array h = mx::matmul(p.x, mx::transpose(p.a));
  const mx::array y = mx::matmul(p.x, mx::transpose(p.w)) + mx::matmul(h, mx::transpose(p.b));
  return p.onto ? *p.onto + y : y;
}

mx::array lora_product_cpu(const LoraProduct& p) {
  CpuKernel kernel{"LoraProductCpu", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    forward(
        Sizes(in[0], in[2], in[3]),
        in[0].data<float>(),
        in[1].data<float>(),
        in[2].data<float>(),
        in[3].data<float>(),
        in.size() > 4 ? in[4].data<float>() : nullptr,
        out[0].data<float>(),
        out[1].data<float>());
  };
  kernel.vjp = [](const Arrays& in,
                  const Arrays& cotangents,
                  const Arrays& out,
                  const std::vector<int>& wanted) {
    const auto wants = [&](int i) {
      return std::find(wanted.begin(), wanted.end(), i) != wanted.end();
    };
    const bool dx = wants(0);
    CpuKernel grad{"LoraProductCpuVjp", nullptr, nullptr};
    grad.run = [dx](const Arrays& in, Arrays& out) {
      backward(
          Sizes(in[1], in[4], in[5]),
          in[0].data<float>(),
          in[1].data<float>(),
          in[2].data<float>(),
          in[3].data<float>(),
          in[4].data<float>(),
          in[5].data<float>(),
          dx ? out[2].data<float>() : nullptr,
          out[0].data<float>(),
          out[1].data<float>());
    };
    const mx::array g = mx::contiguous(cotangents[0]);
    std::vector<mx::Shape> shapes{in[2].shape(), in[3].shape()};
    if (dx) {
      shapes.push_back(in[0].shape());
    }
    const Arrays d = apply(grad, {g, in[0], out[1], in[1], in[2], in[3]}, shapes);
    Arrays all{dx ? d[2] : in[0], in[1], d[0], d[1]};
    if (in.size() > 4) {
      all.push_back(g);
    }
    return all;
  };
  Arrays in{mx::contiguous(p.x), mx::contiguous(p.w), mx::contiguous(p.a), mx::contiguous(p.b)};
  if (p.onto) {
    in.push_back(mx::contiguous(*p.onto));
  }
  mx::Shape y = p.x.shape(), h = p.x.shape();
  y.back() = p.w.shape(0);
  h.back() = p.a.shape(0);
  // h is the second output, for the backward alone: nothing else may read it.
  return apply(kernel, std::move(in), {y, h})[0];
}

}  // namespace atelier
