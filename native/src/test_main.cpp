#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  // Reference values are f32's. On a GPU MLX rounds f32 operands to TF32 unless it is told before the first product.
  setenv("MLX_ENABLE_TF32", "0", 0);
  return doctest::Context(argc, argv).run();
}
