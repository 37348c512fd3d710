#pragma once

namespace atelier {

/** What the sources of all GPU kernels begin with. */
inline constexpr const char* gpu_prelude = R"(
#define INFINITY __int_as_float(0x7f800000)
using int64_t = long long;

struct bf16 {
  unsigned short bits;
  bf16() = default;
  __device__ __forceinline__ explicit bf16(float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ __forceinline__ explicit operator float() const { return __uint_as_float(unsigned(bits) << 16); }
};
struct f16 {
  unsigned short bits;
  f16() = default;
  __device__ __forceinline__ explicit f16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ __forceinline__ explicit operator float() const {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
  }
};
__device__ __forceinline__ float as_float(int bits) { return __int_as_float(bits); }

template <typename U, int N>
struct alignas(sizeof(U) * N) Pack { U v[N]; };
template <int N, typename U>
__device__ __forceinline__ Pack<U, N> load(const U* from) { return *reinterpret_cast<const Pack<U, N>*>(from); }
template <int N, typename U>
__device__ __forceinline__ void store(U* to, const Pack<U, N>& x) { *reinterpret_cast<Pack<U, N>*>(to) = x; }

__device__ __forceinline__ float warp_sum(float x) {
  for (int o = 16; o; o >>= 1) x += __shfl_xor_sync(~0u, x, o);
  return x;
}
__device__ __forceinline__ float warp_max(float x) {
  for (int o = 16; o; o >>= 1) x = fmaxf(x, __shfl_xor_sync(~0u, x, o));
  return x;
}
// Of all threads of the block; `room` holds a float a warp.
__device__ __forceinline__ float block_sum(float x, float* room) {
  x = warp_sum(x);
  const int warps = (blockDim.x + 31) / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
  __syncthreads();
  x = 0;
  for (int i = 0; i < warps; i++) x += room[i];
  return x;
}
__device__ __forceinline__ float block_max(float x, float* room) {
  x = warp_max(x);
  const int warps = (blockDim.x + 31) / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
  __syncthreads();
  x = room[0];
  for (int i = 1; i < warps; i++) x = fmaxf(x, room[i]);
  return x;
}
)";

}  // namespace atelier
