// A product with LoRA that is trained: its own backward against the plain ops', differentiated by MLX.
#include "nn/lora_linear.h"

#include "kernels/gpu/kernel.h"
#include "kernels/rms_norm.h"
#include "kernels/swiglu.h"
#include "testing/fixtures.h"

#include <doctest/doctest.h>

using namespace atelier;
using namespace atelier::testing;

namespace {

mx::array noise(mx::Shape shape, uint64_t seed, float scale = 1) {
  mx::array x = mx::random::normal(shape, mx::float32, 0, scale, mx::random::key(seed));
  mx::eval(x);
  return x;
}

// onto + x Wᵀ + (x Aᵀ) Bᵀ of f32 arrays.
mx::array plain(const Arrays& in, const mx::array& w) {
  auto times = [](const mx::array& x, const mx::array& m) {
    return mx::matmul(x, mx::transpose(m));
  };
  const mx::array y = times(in[0], w) + times(times(in[0], in[1]), in[2]);
  return in.size() > 3 ? in[3] + y : y;
}

void check(const Arrays& made, const Arrays& expected, double tolerance) {
  REQUIRE(made.size() == expected.size());
  for (size_t i = 0; i < made.size(); i++) {
    CAPTURE(i);
    CHECK(excess(mx::astype(made[i], mx::float32), expected[i], tolerance, tolerance) <= 1);
  }
}

// bf16 on a GPU, where the kernels are; f32 elsewhere.
const bool gpu = gpu_kernels_for(mx::array(0.0f));
const mx::Dtype type = gpu ? mx::bfloat16 : mx::float32;

Arrays typed(const Arrays& arrays) {
  Arrays out;
  for (const mx::array& a : arrays) {
    out.push_back(mx::astype(a, type));
  }
  mx::eval(out);
  return out;
}

// The numbers that `type` holds, as f32: what is rounded before both is no difference.
Arrays exact(const Arrays& arrays) {
  Arrays out;
  for (const mx::array& a : typed(arrays)) {
    out.push_back(mx::astype(a, mx::float32));
  }
  return out;
}

}  // namespace

TEST_CASE("a trained product with LoRA: values and gradients are the plain ops', alone and onto") {
  const int B = 3, L = 128, I = 64, O = 96, R = 8;
  const mx::array w = noise({O, I}, 1, 0.1f), g = noise({B, L, O}, 2);
  for (bool onto : {false, true}) {
    CAPTURE(onto);
    Arrays in{noise({B, L, I}, 3), noise({R, I}, 4, 0.1f), noise({O, R}, 5, 0.1f)};
    if (onto) {
      in.push_back(noise({B, L, O}, 6));
    }
    const mx::array frozen = typed({w})[0];
    auto own = [&](const Arrays& a) {
      return Arrays{lora_linear(
          a.size() > 3 ? std::optional(a[3]) : std::nullopt, Weight(frozen), a[1], a[2], a[0])};
    };
    auto reference = [&](const Arrays& a) { return Arrays{plain(a, exact({w})[0])}; };
    const double tolerance = gpu ? 2e-2 : 1e-4;
    check(own(typed(in)), reference(exact(in)), tolerance);
    check(
        mx::vjp(own, typed(in), typed({g})).second,
        mx::vjp(reference, exact(in), exact({g})).second,
        // Sums over 384 rows.
        gpu ? 0.2 : 1e-3);
  }
}

TEST_CASE("what a trained product makes again in its backward is what it was") {
  const int N = 256, D = 64;
  const mx::array w = noise({D, D}, 1, 0.1f), g = noise({N, D}, 2), norm = noise({D}, 3);
  const Arrays in{noise({N, 2 * D}, 4), noise({8, D}, 5, 0.1f), noise({D, 8}, 6, 0.1f)};
  const Arrays constants = typed({w, norm});
  auto own = [&](const Arrays& a) {
    auto s = gpu ? swiglu_gpu(a[0]) : swiglu_plain(a[0]);
    auto x = gpu ? rms_norm_gpu(s, constants[1], 1e-6f) : rms_norm_plain(s, constants[1], 1e-6f);
    return Arrays{lora_linear(std::nullopt, Weight(constants[0]), a[1], a[2], x)};
  };
  const Arrays wide = exact({w, norm});
  auto reference = [&](const Arrays& a) {
    return Arrays{plain({rms_norm_plain(swiglu_plain(a[0]), wide[1], 1e-6f), a[1], a[2]}, wide[0])};
  };
  check(
      mx::vjp(own, typed(in), typed({g})).second,
      mx::vjp(reference, exact(in), exact({g})).second,
      gpu ? 0.2 : 1e-3);
}
