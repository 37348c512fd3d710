#include "kernels/uniforms.h"

#include "kernels/gpu/kernel.h"

namespace atelier {
namespace {

// Philox4x32-10, as core/random.cpp.
const char* source = R"(
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= N) return;
  unsigned c[4] = {unsigned(b[n]), unsigned(a[n]), unsigned(STREAM), 0u};
  unsigned k0 = unsigned(seed[0]), k1 = unsigned(seed[1]);
  for (int round = 0; round < 10; round++) {
    const unsigned h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0];
    const unsigned h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
    const unsigned n0 = h1 ^ c[1] ^ k0, n2 = h0 ^ c[3] ^ k1;
    c[0] = n0; c[1] = l1; c[2] = n2; c[3] = l0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  u[n] = float(c[0] >> 9) * 1.1920928955078125e-7f;
)";

}  // namespace

mx::array uniforms_gpu(
    const mx::array& seed,
    Stream stream,
    const mx::array& index_a,
    const mx::array& index_b) {
  static const GpuKernel kernel("uniforms", {"a", "b", "seed"}, {"u"}, source);
  const int N = index_a.shape(0);
  return kernel(
      {index_a, index_b, seed},
      {{{N}},
       {mx::float32},
       {(N + 127) / 128, 1, 1},
       128,
       {{"STREAM", static_cast<int>(stream)}},
       {{"N", N}}})[0];
}

}  // namespace atelier
