#include "kernels/gpu/empty.h"

#include "kernels/gpu/kernel.h"

namespace atelier {

mx::array empty_gpu(const mx::Shape& shape, mx::Dtype dtype) {
  // Only MLX's own primitives can allocate on the GPU: a kernel that does nothing gets the memory.
  static const GpuKernel kernel("empty", {"of"}, {"out"}, "if (of == nullptr) out[0] = 0;");
  thread_local const mx::array of = mx::array(0.0f);
  return kernel({of}, {{shape}, {dtype}, {1, 1, 1}, 1, {}})[0];
}

}  // namespace atelier
