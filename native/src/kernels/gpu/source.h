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
__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float as_float(int bits) { return __int_as_float(bits); }

template <typename U, int N>
struct alignas(sizeof(U) * N) Pack { U v[N]; };
template <int N, typename U>
__device__ __forceinline__ Pack<U, N> load(const U* from) { return *reinterpret_cast<const Pack<U, N>*>(from); }
template <int N, typename U>
__device__ __forceinline__ void store(U* to, const Pack<U, N>& x) { *reinterpret_cast<Pack<U, N>*>(to) = x; }

struct alignas(16) Words { unsigned a, b, c, d; };
// What is read once and by nobody else.
__device__ __forceinline__ Words load_once(const void* from) {
  Words x;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(x.a), "=r"(x.b), "=r"(x.c), "=r"(x.d) : "l"(from));
  return x;
}
__device__ __forceinline__ unsigned word(const void* from) { return *reinterpret_cast<const unsigned*>(from); }
__device__ __forceinline__ int load_acquire(const int* from) {
  int x;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(from) : "memory");
  return x;
}
// What other blocks of the same launch have written.
__device__ __forceinline__ float load_shared_by_blocks(const float* from) {
  float x;
  asm("ld.global.cg.f32 %0, [%1];" : "=f"(x) : "l"(from) : "memory");
  return x;
}
// Right here: the compiler would put it off.
__device__ __forceinline__ Pack<unsigned, 4> load_now(const void* from) {
  Pack<unsigned, 4> x;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.v[0]), "=r"(x.v[1]), "=r"(x.v[2]), "=r"(x.v[3]) : "l"(from));
  return x;
}
// c += a b on a warp's tensor cores: 16 x 16 times 16 x 8, laid out as PTX's mma.m16n8k16 says.
#define MULTIPLY(TYPE, NAME) \
  __device__ __forceinline__ void multiply( \
      float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1, TYPE) { \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." NAME "." NAME ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
        "{%0, %1, %2, %3};" \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1)); \
  }
MULTIPLY(bf16, "bf16")
MULTIPLY(f16, "f16")
// Launches that a recorded graph lets overlap (gpu/replay.cpp): the next may start and read what no launch writes; what
// was written before is there from wait_for_previous on. Nothing elsewhere: what follows in MLX's graphs may start then
// (cuBLAS's kernels do) and does not wait.
__device__ __forceinline__ void start_next() {
#if __CUDA_ARCH__ >= 900 && defined(RECORDED)
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

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
