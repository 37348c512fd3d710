// Shapes: B batch, L length, H query heads, K key heads, E head.
#include "kernels/heads.h"
#include "kernels/gpu/kernel.h"

#include <algorithm>

namespace atelier {
namespace {

// LANES threads a head: each holds PER numbers from i on, and those half a head further, with which they are rotated.
const char* common = R"(
  constexpr int HALF = E / 2, PER = 8, LANES = HALF / PER;
  const int64_t group = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  const int64_t n = group / (H + 2 * K);
  const int h = group % (H + 2 * K);
  if (n >= int64_t(B) * L) return;
  const int b = n / L, l = n % L;
  const int i = lane * PER;
  const int part = h < H ? 0 : h < H + K ? 1 : 2;
  const int count = part == 0 ? H : K, index = part == 0 ? h : part == 1 ? h - H : h - H - K;
  const size_t in = size_t(group) * E, out = (size_t(n) * count + index) * E;
  const float* c = cos + (size_t(SHARED ? 0 : b) * L + l) * E;
  const float* s = sin + (size_t(SHARED ? 0 : b) * L + l) * E;
  Pack<T, PER> low = load<PER>(x + in + i), high = load<PER>(x + in + HALF + i);
  // Of the head's threads, which alone are here: others may have left.
  auto sum = [&](float a) {
    const unsigned own = ((1u << LANES) - 1) << (threadIdx.x % 32 - lane);
    for (int o = LANES / 2; o; o >>= 1) a += __shfl_xor_sync(own, a, o);
    return a;
  };
)";

const char* forward_body = R"(
  T* to = (part == 0 ? q : part == 1 ? k : v) + out;
  if (part == 2) {
    store<PER>(to + i, low);
    store<PER>(to + HALF + i, high);
    return;
  }
  float scale = 1;
  const T* w = part == 0 ? wq : wk;
  if (NORM) {
    float squares = 0;
    for (int j = 0; j < PER; j++) {
      const float a = float(low.v[j]), d = float(high.v[j]);
      squares += a * a + d * d;
    }
    scale = rsqrtf(sum(squares) / E + as_float(EPS));
  }
  for (int j = 0; j < PER; j++) {
    float a = float(low.v[j]), d = float(high.v[j]);
    if (NORM) {
      a *= scale * float(w[i + j]);
      d *= scale * float(w[HALF + i + j]);
    }
    low.v[j] = T(a * c[i + j] + d * s[i + j]);
    high.v[j] = T(d * c[HALF + i + j] + a * s[HALF + i + j]);
  }
  store<PER>(to + i, low);
  store<PER>(to + HALF + i, high);
)";

// The rotation's transpose, then the norm's backward.
const char* backward_body = R"(
  const T* from = (part == 0 ? gq : part == 1 ? gk : gv) + out;
  Pack<T, PER> glow = load<PER>(from + i), ghigh = load<PER>(from + HALF + i);
  if (part == 2) {
    store<PER>(dx + in + i, glow);
    store<PER>(dx + in + HALF + i, ghigh);
    return;
  }
  const T* w = part == 0 ? wq : wk;
  float da[PER], dd[PER], squares = 0, along = 0;
  for (int j = 0; j < PER; j++) {
    const float ga = float(glow.v[j]), gd = float(ghigh.v[j]);
    da[j] = ga * c[i + j] + gd * s[HALF + i + j];
    dd[j] = gd * c[HALF + i + j] + ga * s[i + j];
    if (NORM) {
      const float a = float(low.v[j]), d = float(high.v[j]);
      da[j] *= float(w[i + j]);
      dd[j] *= float(w[HALF + i + j]);
      squares += a * a + d * d;
      along += a * da[j] + d * dd[j];
    }
  }
  float r = 1, by = 0;
  if (NORM) {
    r = rsqrtf(sum(squares) / E + as_float(EPS));
    by = r * r * sum(along) / E;
  }
  for (int j = 0; j < PER; j++) {
    low.v[j] = T(r * (da[j] - float(low.v[j]) * by));
    high.v[j] = T(r * (dd[j] - float(high.v[j]) * by));
  }
  store<PER>(dx + in + i, low);
  store<PER>(dx + in + HALF + i, high);
)";

GpuLaunch launch(
    const mx::array& qkv,
    const mx::array& cos,
    const HeadsSpec& spec,
    bool norm,
    std::vector<mx::Shape> shapes) {
  const int B = qkv.shape(0), L = qkv.shape(1);
  const int64_t lanes = spec.head_dim / 16;
  const int64_t threads = int64_t{B} * L * (spec.heads + 2 * spec.kv_heads) * lanes;
  return {
      shapes,
      std::vector<mx::Dtype>(shapes.size(), qkv.dtype()),
      {static_cast<int>((threads + 255) / 256), 1, 1},
      256,
      {{"H", spec.heads},
       {"K", spec.kv_heads},
       {"E", spec.head_dim},
       {"NORM", norm},
       {"EPS", float_bits(spec.eps)}},
      {{"B", B}, {"L", L}, {"SHARED", cos.shape(0) == 1}}};
}

// Heads before or behind positions: the same numbers seen otherwise, as attention reads and writes them either way.
mx::array turned(const mx::array& a) {
  return mx::transpose(a, {0, 2, 1, 3});
}

}  // namespace

bool split_heads_fits_gpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const mx::array& cos,
    const HeadsSpec& spec) {
  const int E = spec.head_dim;
  return gpu_kernels_for(qkv) && cos.shape(3) == E && qkv.size() > 0 &&
         (E == 64 || E == 128 || E == 256) && (!q_norm || q_norm->dtype() == qkv.dtype());
}

Heads split_heads_gpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& spec) {
  static const GpuKernel forward(
      "split_heads",
      {"x", "cos", "sin", "wq", "wk"},
      {"q", "k", "v"},
      std::string(common) + forward_body);
  static const GpuKernel backward(
      "split_heads_vjp",
      {"x", "cos", "sin", "wq", "wk", "gq", "gk", "gv"},
      {"dx"},
      std::string(common) + backward_body);
  const bool norm = q_norm.has_value();
  auto vjp = [spec, norm](
                 const Arrays& in, const Arrays& g, const Arrays&, const std::vector<int>& wanted) {
    if (norm && std::any_of(wanted.begin(), wanted.end(), [](int i) { return i >= 3; })) {
      return mx::vjp(
                 [spec](const Arrays& a) {
                   const Heads h = split_heads_plain(a[0], a[3], a[4], a[1], a[2], spec);
                   return Arrays{turned(h.q), turned(h.k), turned(h.v)};
                 },
                 in,
                 g)
          .second;
    }
    Arrays inputs = in;
    inputs.insert(inputs.end(), g.begin(), g.end());
    return Arrays{
        backward(inputs, launch(in[0], in[1], spec, norm, {in[0].shape()}))[0],
        in[1],
        in[2],
        in[3],
        in[4]};
  };
  const int B = qkv.shape(0), L = qkv.shape(1), E = spec.head_dim;
  const mx::Shape kv{B, L, spec.kv_heads, E};
  // Without norms their places are filled by what is there anyway.
  const mx::array none = norm ? *q_norm : mx::stop_gradient(qkv);
  const Arrays out = forward(
      {qkv, cos, sin, q_norm.value_or(none), k_norm.value_or(none)},
      launch(qkv, cos, spec, norm, {{B, L, spec.heads, E}, kv, kv}),
      {.vjp = vjp});
  return {turned(out[0]), turned(out[1]), turned(out[2])};
}

}  // namespace atelier
