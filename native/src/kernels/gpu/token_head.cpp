// C targets of one chunk, V vocabulary.
#include "kernels/token_head.h"
#include "kernels/gpu/kernel.h"

namespace atelier {
namespace {

// A block a row. First pass: the maximum and both sums, corrected whenever the maximum of a thread rises. Second, where
// p is asked for: the probabilities.
const char* source = R"(
  __shared__ float room[32];
  const T* row = l + size_t(blockIdx.x) * V;
  float m = -INFINITY, sum = 0, weighted = 0;   // sums of e^(x - m) and of e^(x - m) (x - m)
  auto take = [&](const Pack<T, W>& a) {
    float most = m;
    for (int j = 0; j < W; j++) most = fmaxf(most, float(a.v[j]));
    if (most > m) {
      const float by = __expf(m - most);
      weighted = sum == 0 ? 0 : by * (weighted + sum * (m - most));
      sum *= by;
      m = most;
    }
    for (int j = 0; j < W; j++) {
      const float d = float(a.v[j]) - m, e = __expf(d);
      sum += e;
      weighted += e == 0 ? 0 : e * d;
    }
  };
  for (int i = threadIdx.x * W; i < V; i += THREADS * W) take(load<W>(row + i));
  const float top = block_max(m, room);
  const float by = sum == 0 ? 0 : __expf(m - top);
  const float total = block_sum(sum * by, room);
  const float along = block_sum(by == 0 ? 0 : by * (weighted + sum * (m - top)), room);
  if (threadIdx.x == 0) {
    const float log_total = logf(total);
    lse[blockIdx.x] = top + log_total;
    logp[blockIdx.x] = float(row[y[blockIdx.x]]) - top - log_total;
    entropy[blockIdx.x] = log_total - along / total;
  }
  if (WITH_P) {
    const float inverse = 1.0f / total;
    for (int i = threadIdx.x * W; i < V; i += THREADS * W) {
      const Pack<T, W> a = load<W>(row + i);
      Pack<T_p, W> e;
      for (int j = 0; j < W; j++) e.v[j] = T_p(__expf(float(a.v[j]) - top) * inverse);
      store<W>(p + size_t(blockIdx.x) * V + i, e);
    }
  }
)";

constexpr int threads = 512;

}  // namespace

bool token_head_fits_gpu(const mx::array& logits) {
  return gpu_kernels_for(logits) && logits.dtype() == mx::float32 && logits.size() > 0 &&
         logits.shape(1) % 4 == 0;
}

TokenHead
token_head_gpu(const mx::array& logits, const mx::array& targets, std::optional<mx::Dtype> p_type) {
  static const GpuKernel kernel("token_head", {"l", "y"}, {"logp", "lse", "entropy", "p"}, source);
  const mx::Dtype type = p_type.value_or(mx::float32);
  const int C = logits.shape(0), V = logits.shape(1);
  const Arrays made = kernel(
      {logits, targets},
      {{{C}, {C}, {C}, p_type ? mx::Shape{C, V} : mx::Shape{1, 1}},
       {mx::float32, mx::float32, mx::float32, type},
       {C, 1, 1},
       threads,
       {{"V", V}, {"W", 4}, {"THREADS", threads}, {"WITH_P", p_type.has_value()}}});
  return {made[0], made[1], made[2], p_type ? std::optional(made[3]) : std::nullopt};
}

}  // namespace atelier
