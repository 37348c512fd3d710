// C targets of one chunk, V vocabulary.
#include "kernels/token_head.h"
#include "kernels/gpu/kernel.h"

namespace atelier {
namespace {

// A block a row, read once. Exponentials are taken from a number near the maximum, the largest of the row's beginning
// and the target; where the maximum turns out so far above it that sums might overflow, from the maximum, once more.
const char* source = R"(
  __shared__ float room[32];
  constexpr int STEP = THREADS * W;
  const T* row = l + size_t(blockIdx.x) * V;
  const float target = float(row[y[blockIdx.x]]);
  float from = target;
  if (threadIdx.x * W < V) {
    const Pack<T, W> a = load<W>(row + threadIdx.x * W);
    for (int j = 0; j < W; j++) from = fmaxf(from, float(a.v[j]));
  }
  from = block_max(from, room);
  float top, total, along;                       // of e^(x - from) and of e^(x - from) (x - from)
  while (true) {
    float most = -INFINITY, sum = 0, weighted = 0;
    auto take = [&](int i, const Pack<T, W>& a) {
      Pack<T_p, W> e;
      for (int j = 0; j < W; j++) {
        const float d = float(a.v[j]) - from, x = __expf(d);
        most = fmaxf(most, d);
        sum += x;
        weighted += x == 0 ? 0 : x * d;
        e.v[j] = T_p(x);
      }
      if (WITH_P) store<W>(p + size_t(blockIdx.x) * V + i, e);
    };
    int i = threadIdx.x * W;
    for (; i + (AHEAD - 1) * STEP < V; i += AHEAD * STEP) {
      Pack<T, W> a[AHEAD];
      for (int k = 0; k < AHEAD; k++) a[k] = load<W>(row + i + k * STEP);
      for (int k = 0; k < AHEAD; k++) take(i + k * STEP, a[k]);
    }
    for (; i < V; i += STEP) take(i, load<W>(row + i));
    top = block_max(most, room);
    total = block_sum(sum, room);
    along = block_sum(weighted, room);
    if (!(top > MOST)) break;
    from += top;
  }
  if (threadIdx.x == 0) {
    const float log_total = logf(total);
    lse[blockIdx.x] = from + log_total;
    logp[blockIdx.x] = target - from - log_total;
    entropy[blockIdx.x] = log_total - along / total;
    if (WITH_P) scale[blockIdx.x] = 1.0f / total;
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
  static const GpuKernel kernel(
      "token_head", {"l", "y"}, {"logp", "lse", "entropy", "p", "scale"}, source);
  const mx::Dtype type = p_type.value_or(mx::float32);
  const int C = logits.shape(0), V = logits.shape(1);
  // p and its sums may be so many powers of e: f16 ends at 11.
  const int most = type == mx::float16 ? 10 : 40;
  const Arrays made = kernel(
      {logits, targets},
      {{{C}, {C}, {C}, p_type ? mx::Shape{C, V} : mx::Shape{1, 1}, {C}},
       {mx::float32, mx::float32, mx::float32, type, mx::float32},
       {C, 1, 1},
       threads,
       {{"V", V},
        {"W", 4},
        {"THREADS", threads},
        {"WITH_P", p_type.has_value()},
        {"AHEAD", 4},
        {"MOST", most}}});
  TokenHead head{made[0], made[1], made[2], std::nullopt, std::nullopt};
  if (p_type) {
    head.p = made[3];
    head.p_scale = made[4];
  }
  return head;
}

}  // namespace atelier
