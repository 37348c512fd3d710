// Shapes: M rows, I in, O out, E experts.
#include "kernels/expert_product.h"

#include "kernels/gemm.h"
#include "kernels/parallel.h"

#include <algorithm>
#include <cstdint>

namespace atelier {
namespace {

/** Rows [from, to) of one expert, and columns [left, right) of what they give. */
struct Piece {
  int expert, from, to, left, right;
};

// Runs of rows with the same expert, cut along the columns into pieces that are worth a thread.
std::vector<Piece> pieces_of(const int32_t* expert, int rows, int in, int out) {
  constexpr int64_t work = 2'000'000;
  std::vector<Piece> pieces;
  for (int from = 0; from < rows;) {
    int to = from + 1;
    while (to < rows && expert[to] == expert[from]) {
      to++;
    }
    const int64_t each = int64_t{to - from} * in;
    const int step = static_cast<int>(std::min<int64_t>(out, (work / each / 16 + 1) * 16));
    for (int left = 0; left < out; left += step) {
      pieces.push_back({expert[from], from, to, left, std::min(out, left + step)});
    }
    from = to;
  }
  return pieces;
}

void for_pieces(const std::vector<Piece>& pieces, const std::function<void(const Piece&)>& body) {
  parallel_for(static_cast<int>(pieces.size()), 1, [&](int from, int to) {
    std::for_each(pieces.begin() + from, pieces.begin() + to, body);
  });
}

mx::array gradient_of_x(const mx::array& g, const mx::array& w, const mx::array& expert) {
  CpuKernel kernel{"ExpertProductCpuVjpX", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int M = in[0].shape(0), O = in[1].shape(1), I = in[1].shape(2);
    const float *g = in[0].data<float>(), *w = in[1].data<float>();
    float* to = out[0].data<float>();
    for_pieces(pieces_of(in[2].data<int32_t>(), M, O, I), [&](const Piece& p) {
      gemm(
          p.to - p.from,
          p.right - p.left,
          O,
          gradient_depth,
          rows_of(g + int64_t{p.from} * O, O),
          rows_of(w + int64_t{p.expert} * O * I + p.left, I),
          to + int64_t{p.from} * I + p.left,
          I);
    });
  };
  return apply(kernel, {g, w, expert}, {{g.shape(0), w.shape(2)}})[0];
}

mx::array gradient_of_w(
    const mx::array& g,
    const mx::array& x,
    const mx::array& expert,
    const mx::Shape& shape) {
  CpuKernel kernel{"ExpertProductCpuVjpW", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int M = in[0].shape(0), O = out[0].shape(1), I = out[0].shape(2);
    const float *g = in[0].data<float>(), *x = in[1].data<float>();
    float* to = out[0].data<float>();
    // Experts without a row stay 0.
    std::fill(to, to + out[0].size(), 0.0f);
    for_pieces(pieces_of(in[2].data<int32_t>(), M, O, I), [&](const Piece& p) {
      gemm(
          O,
          p.right - p.left,
          p.to - p.from,
          gradient_depth,
          columns_of(g + int64_t{p.from} * O, O),
          rows_of(x + int64_t{p.from} * I + p.left, I),
          to + int64_t{p.expert} * O * I + p.left,
          I);
    });
  };
  return apply(kernel, {g, x, expert}, {shape})[0];
}

bool wants(const std::vector<int>& wanted, int index) {
  return std::find(wanted.begin(), wanted.end(), index) != wanted.end();
}

}  // namespace

// Not told that the indices are sorted: MLX 0.32.4 gives wrong products then, on CUDA.
mx::array expert_product_plain(const mx::array& x, const mx::array& w, const mx::array& expert_M) {
  return mx::squeeze(
      mx::gather_mm(
          mx::expand_dims(x, 1),
          mx::swapaxes(w, 1, 2),
          std::nullopt,
          mx::astype(expert_M, mx::uint32)),
      1);
}

mx::array expert_product_cpu(const mx::array& x, const mx::array& w, const mx::array& expert_M) {
  CpuKernel kernel{"ExpertProductCpu", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int M = in[0].shape(0), O = in[1].shape(1), I = in[1].shape(2);
    const float *x = in[0].data<float>(), *w = in[1].data<float>();
    float* to = out[0].data<float>();
    for_pieces(pieces_of(in[2].data<int32_t>(), M, I, O), [&](const Piece& p) {
      gemm(
          p.to - p.from,
          p.right - p.left,
          I,
          forward_depth,
          rows_of(x + int64_t{p.from} * I, I),
          columns_of(w + (int64_t{p.expert} * O + p.left) * I, I),
          to + int64_t{p.from} * O + p.left,
          O);
    });
  };
  kernel.vjp = [](const Arrays& in,
                  const Arrays& cotangents,
                  const Arrays&,
                  const std::vector<int>& wanted) {
    const mx::array g = mx::contiguous(cotangents[0]);
    return Arrays{
        wants(wanted, 0) ? gradient_of_x(g, in[1], in[2]) : in[0],
        wants(wanted, 1) ? gradient_of_w(g, in[0], in[2], in[1].shape()) : in[1],
        in[2]};
  };
  return apply(
      kernel,
      {mx::contiguous(x), mx::contiguous(w), mx::contiguous(expert_M)},
      {{x.shape(0), w.shape(1)}})[0];
}

}  // namespace atelier
