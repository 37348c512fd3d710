// A test's fixture: kernels of the CPU run on the CPU, in a build for a GPU too.
#pragma once
#include <mlx/mlx.h>

namespace atelier::testing {

struct OnCpu {
  const mlx::core::Device before = mlx::core::default_device();
  OnCpu() {
    mlx::core::set_default_device(mlx::core::Device::cpu);
  }
  ~OnCpu() {
    mlx::core::set_default_device(before);
  }
};

}  // namespace atelier::testing
