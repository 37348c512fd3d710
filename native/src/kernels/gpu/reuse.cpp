#include "kernels/gpu/reuse.h"

#include "kernels/gpu/driver.h"

namespace atelier {

#if defined(ATELIER_DEVICE_cuda)
namespace {

thread_local int orders = 0;
thread_local size_t cache_limit = 0;

// MLX frees on a stream of its own, so the driver does not know who computes with what it would give back to the system
// when the host next waits.
void keep_in_pool(bool keep) {
  constexpr int release_threshold = 4;
  int device = 0;
  CUmemoryPool pool = nullptr;
  unsigned long long bytes = keep ? ~0ull : 0;
  check_cuda(cuda().current_device(&device), "cuCtxGetDevice");
  check_cuda(cuda().memory_pool(&pool, device), "cuDeviceGetDefaultMemPool");
  check_cuda(cuda().set_pool(pool, release_threshold, &bytes), "cuMemPoolSetAttribute");
}

// Close to the limit MLX frees what it would keep, and the driver may move that elsewhere: nothing may be at work then.
bool short_of_memory() {
  const double held = static_cast<double>(mx::get_active_memory() + mx::get_cache_memory());
  return held > 0.7 * static_cast<double>(mx::get_memory_limit());
}

}  // namespace

ReuseInOrder::ReuseInOrder() {
  if (mx::default_device() != mx::Device::gpu) {
    return;
  }
  if (orders == 0) {
    keep_in_pool(true);
    // Beyond it MLX frees what is given back, whoever still computes with it.
    cache_limit = mx::set_cache_limit(mx::get_memory_limit());
  }
  orders++;
}

ReuseInOrder::~ReuseInOrder() {
  if (mx::default_device() != mx::Device::gpu || --orders > 0) {
    return;
  }
  try {
    mx::synchronize();
    mx::set_cache_limit(cache_limit);
    keep_in_pool(false);
  } catch (const std::exception&) {
    // A GPU that failed: whoever computes with it next is told.
  }
}

bool release_used(mx::Stream stream) {
  if (orders == 0) {
    return false;
  }
  auto& encoder = mx::cu::get_command_encoder(stream);
  if (short_of_memory()) {
    encoder.synchronize();
    return true;
  }
  // What the host can write into is not the stream's alone.
  std::vector<std::shared_ptr<mx::array::Data>> used, kept;
  for (auto& data : encoder.temporaries) {
    const auto* buffer = static_cast<const mx::cu::CudaBuffer*>(data->buffer().ptr());
    (buffer && buffer->device >= 0 ? used : kept).push_back(std::move(data));
  }
  encoder.temporaries = std::move(kept);
  encoder.commit();
  return true;
}

#else

ReuseInOrder::ReuseInOrder() = default;
ReuseInOrder::~ReuseInOrder() = default;

bool release_used(mx::Stream) {
  return false;
}

#endif

}  // namespace atelier
