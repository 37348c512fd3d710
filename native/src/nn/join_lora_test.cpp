#include "core/random.h"
#include "kernels/gpu/compile.h"
#include "kernels/lora_sum.h"
#include "kernels/thin_product.h"
#include "nn/linear.h"
#include "nn/lora.h"
#include "testing/fixtures.h"
#include "testing/on_gpu.h"

#include <doctest/doctest.h>

using namespace atelier;
using namespace atelier::testing;

namespace {

// More features than the blocks of a product's own kernel.
constexpr int I = 128, O = 32768, R = 32;

mx::array noise(mx::Shape shape, uint32_t index, float scale = 1) {
  return mx::astype(
      mx::random::normal(shape, mx::float32, 0, scale, random_key(4, Stream::weights, index)),
      mx::bfloat16);
}

void check_same(const mx::array& a, const mx::array& b) {
  auto wide = [](const mx::array& x) { return mx::astype(x, mx::float32); };
  CHECK(excess(wide(a), wide(b), 2e-2, 2e-2) <= 1);
}

}  // namespace

TEST_CASE(
    "gpu join_lora: W with A below it makes the same, alone, onto, gated and with DoRA" * on_gpu) {
  const Params weights{{"p.weight", noise({O, I}, 1, 0.1f)}};
  for (bool dora : {false, true}) {
    Params apart{{"p.A", noise({R, I}, 2, 0.1f)}, {"p.B", noise({O, R}, 3, 0.1f)}};
    if (dora) {
      apart.emplace("p.gain", mx::array(1, mx::bfloat16) + noise({O}, 4, 0.1f));
    }
    for (int rows : {thin_product_rows + 1, 256}) {
      CAPTURE(rows);
      Params joined = apart;
      join_lora(joined, weights, rows, true);
      REQUIRE(joined.count("p.WA") == 1);
      CHECK(joined.at("p.WA").nbytes() == join_lora_bytes(apart, weights, rows, true));
      const mx::array x = noise({rows, 1, I}, 5), onto = noise({rows, 1, O}, 6);
      const mx::array one = linear(weights, joined, "p", x), two = linear(weights, apart, "p", x);
      // Asked for before either is computed: afterwards nothing knows how it was made.
      const std::optional<mx::array> gated = lora_sum_gated_gpu(one),
                                     twin = lora_sum_gated_gpu(two);
      CHECK(gated.has_value() == !dora);
      CHECK(twin.has_value() == !dora);
      if (gated && twin) {
        check_same(*gated, *twin);
      }
      check_same(one, two);
      check_same(
          linear_onto(onto, weights, joined, "p", x), linear_onto(onto, weights, apart, "p", x));
    }
    for (int rows : {thin_product_rows, lora_sum_rows + 1}) {
      CHECK(join_lora_bytes(apart, weights, rows, true) == 0);
    }
  }
  // A product that has a kernel of its own in recorded steps alone.
  const Params small{{"p.weight", noise({512, I}, 7)}},
      lora{{"p.A", noise({R, I}, 8)}, {"p.B", noise({512, R}, 9)}};
  CHECK((join_lora_bytes(lora, small, 64, true) == 0) == gpu_multiplies_tiles());
  CHECK(join_lora_bytes(lora, small, 64, false) > 0);
}
