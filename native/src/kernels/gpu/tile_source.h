#pragma once

namespace atelier {

/**
 * For sources that multiply tiles in shared memory by warpgroups (wgmma, compute capability 9.0 alone), filled by
 * cp.async and counted by mbarriers; blocks of a cluster write into each other's.
 */
inline constexpr const char* tile_helpers = R"(
__device__ __forceinline__ unsigned shared_address(const void* at) { return unsigned(__cvta_generic_to_shared(at)); }
__device__ __forceinline__ void barrier_init(unsigned at, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barriers_are_there() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned at) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
}
__device__ __forceinline__ void barrier_expect(unsigned at, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_wait(unsigned at, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@!done bra again;\n}"
      :: "r"(at), "r"(parity) : "memory");
}
__device__ __forceinline__ void copy_later(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void copies_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(LEFT) : "memory"); }
// `landed` is told how many groups are still on their way: LEFT, then one less, down to none.
template <int LEFT, class Landed>
__device__ __forceinline__ void copies_wait_each(Landed landed) {
  if constexpr (LEFT >= 0) {
    copies_wait<LEFT>();
    landed(LEFT);
    copies_wait_each<LEFT - 1>(landed);
  }
}
// By each thread that has written what tensor cores are to read.
__device__ __forceinline__ void for_tensor_cores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Relaxed: a release would wait for every write in flight, which takes a microsecond.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ unsigned address_in(int rank, unsigned at) {
  unsigned to;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(at), "r"(rank));
  return to;
}
// 16 bytes into another block, which that block's barrier counts.
__device__ __forceinline__ void give(unsigned to, const float* x, unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
               :: "r"(to), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "r"(barrier) : "memory");
}
__device__ __forceinline__ void add_shared(float (&sum)[4], unsigned at) {
  float a, b, c, d;
  asm("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(at) : "memory");
  sum[0] += a, sum[1] += b, sum[2] += c, sum[3] += d;
}
__device__ __forceinline__ unsigned shared_word(unsigned at) {
  unsigned x;
  asm("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}

// A tile of rows of 128 bytes, at a multiple of 1,024, whose pieces of 16 bytes are swizzled as tensor cores want it.
__device__ __forceinline__ unsigned swizzled(int row, int piece) { return row * 128 + (piece ^ row % 8) * 16; }
__device__ __forceinline__ unsigned long long tile_at(unsigned at) {
  return (at & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__device__ __forceinline__ void tiles_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void tiles_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void tiles_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(LEFT) : "memory");
}
template <int N>
__device__ __forceinline__ void settled(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(x[i]) :: "memory");
}
// c (+)= a bᵀ by a warpgroup: 64 rows of 16 numbers times N rows of 16. A lane holds what it holds in `multiply`, for
// one 8 columns after the other. Without `more` c is begun.
#define L0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define L1 L0 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define L2 L1 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define L3 L2 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define L5 L3 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define L7 L5 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define L11 L7 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
               ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define C0(I) "+f"(c[I]), "+f"(c[I + 1]), "+f"(c[I + 2]), "+f"(c[I + 3]), \
              "+f"(c[I + 4]), "+f"(c[I + 5]), "+f"(c[I + 6]), "+f"(c[I + 7])
#define C1(I) C0(I), C0(I + 8)
#define C2(I) C1(I), C0(I + 16)
#define C3(I) C1(I), C1(I + 16)
#define C7(I) C3(I), C3(I + 32)
#define C11(I) C7(I), C3(I + 64)
#define MULTIPLY_TILE(TYPE, NAME, N, K, A, B, MORE) \
  __device__ __forceinline__ void multiply_tile( \
      float (&c)[N / 2], unsigned long long a, unsigned long long b, int more, TYPE) { \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " MORE ", 0;\n" \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME "." NAME \
                 " {" L##K "}, " A ", " B ", p, 1, 1, 0, 0;\n}" \
                 : C##K(0) : "l"(a), "l"(b), "r"(more)); \
  }
#define MULTIPLY_TILES(TYPE, NAME) \
  MULTIPLY_TILE(TYPE, NAME, 16, 0, "%8", "%9", "%10") \
  MULTIPLY_TILE(TYPE, NAME, 32, 1, "%16", "%17", "%18") \
  MULTIPLY_TILE(TYPE, NAME, 48, 2, "%24", "%25", "%26") \
  MULTIPLY_TILE(TYPE, NAME, 64, 3, "%32", "%33", "%34") \
  MULTIPLY_TILE(TYPE, NAME, 128, 7, "%64", "%65", "%66") \
  MULTIPLY_TILE(TYPE, NAME, 192, 11, "%96", "%97", "%98")
MULTIPLY_TILES(bf16, "bf16")
MULTIPLY_TILES(f16, "f16")
)";

}  // namespace atelier
