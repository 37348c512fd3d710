// A test's fixture: kernels of the CPU run on the CPU, in a build for a GPU too.
#pragma once
#include "kernels/blas.h"

#include <doctest/doctest.h>
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

/** Decorates a case: without a BLAS (the wheels for GPUs, macOS) nothing goes to the CPU's kernels. */
inline const auto cpu_kernels = doctest::skip(!has_blas());

}  // namespace atelier::testing
