#include "kernels/gpu/driver.h"

#include "core/error.h"

namespace atelier {

#if defined(ATELIER_DEVICE_cuda)

const Driver& cuda() {
  static const Driver made;
  return made;
}

void check_cuda(int status, const char* what) {
  if (status != 0) {
    throw Error(
        ErrorCode::internal,
        std::string("replay: ") + what + " failed with the CUDA driver's error " +
            std::to_string(status));
  }
}

#endif

}  // namespace atelier
