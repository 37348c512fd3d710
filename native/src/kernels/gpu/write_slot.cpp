// Shapes: B rows, K key heads, S slots of the cache, E head.
#include "kernels/write_slot.h"
#include "kernels/gpu/kernel.h"

namespace atelier {
namespace {

// A thread W numbers of a key and of a value.
const char* source = R"(
  const int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t head = n / (E / W);
  const int i = n % (E / W) * W;
  if (head >= HEADS) return;
  const size_t to = (size_t(head) * S + slot[0]) * E + i;
  // in_place: these two are outputs as well.
  store<W>(const_cast<T*>(k_cache) + to, load<W>(k + head * E + i));
  store<W>(const_cast<T*>(v_cache) + to, load<W>(v + head * E + i));
  if (n == 0) done[0] = 1;
)";

}  // namespace

bool write_slot_fits_gpu(const mx::array& k, const mx::array& k_cache) {
  return gpu_kernels_for(k) && k.shape(2) == 1 && k.dtype() == k_cache.dtype() &&
         k.shape(3) % 8 == 0;
}

std::pair<mx::array, mx::array> write_slot_gpu(
    const mx::array& k,
    const mx::array& v,
    const mx::array& slot,
    const mx::array& k_cache,
    const mx::array& v_cache) {
  static const GpuKernel kernel(
      "write_slot", {"k", "v", "slot", "k_cache", "v_cache"}, {"done"}, source);
  const int heads = k.shape(0) * k.shape(1), E = k.shape(3),
            W = 16 / static_cast<int>(k.dtype().size());
  const Arrays out = kernel.in_place(
      {mx::contiguous(k), mx::contiguous(v), slot, k_cache, v_cache},
      {3, 4},
      {{{1}},
       {mx::int32},
       {(heads * (E / W) + 255) / 256, 1, 1},
       256,
       {{"E", E}, {"W", W}},
       {{"HEADS", heads}, {"S", k_cache.shape(2)}}});
  return {out[0], out[1]};
}

}  // namespace atelier
