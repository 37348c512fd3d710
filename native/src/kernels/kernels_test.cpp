// Each kernel against its plain-op twin, forward and backward, at sizes that fill lanes and that do not.
#include "core/random.h"
#include "kernels/adamw.h"
#include "kernels/attend.h"
#include "kernels/attention.h"
#include "kernels/draw.h"
#include "kernels/expert_product.h"
#include "kernels/heads.h"
#include "kernels/lora_product.h"
#include "kernels/processor.h"
#include "kernels/product.h"
#include "kernels/rms_norm.h"
#include "kernels/swiglu.h"
#include "kernels/tiles.h"
#include "testing/fixtures.h"
#include "testing/on_cpu.h"

#include <doctest/doctest.h>

using namespace atelier;
using namespace atelier::testing;

namespace {

using Function = std::function<Arrays(const Arrays&)>;

mx::array noise(mx::Shape shape, uint32_t index, float scale = 1) {
  mx::array x =
      mx::random::normal(shape, mx::float32, 0, scale, random_key(9, Stream::weights, index));
  mx::eval(x);
  return x;
}

void check_same(const Arrays& a, const Arrays& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); i++) {
    CAPTURE(i);
    CHECK(excess(a[i], b[i], tolerance, tolerance) <= 1);
  }
}

struct OnProcessor {
  const Processor before = processor();
  explicit OnProcessor(Processor kind) {
    use_processor(kind);
  }
  ~OnProcessor() {
    mx::synchronize();
    use_processor(before);
  }
};

// On each kind of processor that the machine runs: values, and gradients of all of `inputs` under random cotangents.
void check_twins(
    const Function& kernel,
    const Function& plain,
    const Arrays& inputs,
    double tolerance = 2e-5) {
  const Arrays values = plain(inputs);
  Arrays cotangents;
  for (size_t i = 0; i < values.size(); i++) {
    cotangents.push_back(noise(values[i].shape(), 100 + i));
  }
  Arrays gradients = mx::vjp(plain, inputs, cotangents).second;
  mx::eval(gradients);
  for (Processor kind : {Processor::common, Processor::avx2, Processor::avx512}) {
    if (kind > best_processor()) {
      continue;
    }
    const OnProcessor on(kind);
    CAPTURE(static_cast<int>(kind));
    check_same(kernel(inputs), values, tolerance);
    check_same(mx::vjp(kernel, inputs, cotangents).second, gradients, tolerance);
  }
}

}  // namespace

TEST_CASE_FIXTURE(testing::OnCpu, "rms_norm: kernel and twin" * cpu_kernels) {
  for (int D : {5, 32, 160, 576}) {
    CAPTURE(D);
    const float eps = 1e-5f;
    check_twins(
        [&](const Arrays& in) { return Arrays{rms_norm_cpu(in[0], in[1], eps)}; },
        [&](const Arrays& in) { return Arrays{rms_norm_plain(in[0], in[1], eps)}; },
        {noise({3, 70, D}, 1), noise({D}, 2)},
        1e-4);
  }
  // A frozen weight, and an input that is a view.
  const mx::array x = noise({6, 40}, 3), w = noise({6}, 4);
  auto through = [&](auto f) {
    return [&, f](const Arrays& in) { return Arrays{f(mx::transpose(in[0]), w, 1e-6f)}; };
  };
  check_twins(through(rms_norm_cpu), through(rms_norm_plain), {x});
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "swiglu and geglu: kernel and twin, also where the gate is large" * cpu_kernels) {
  using Gated = mx::array (*)(const mx::array&);
  for (const auto& [cpu, plain] :
       {std::pair<Gated, Gated>{swiglu_cpu, swiglu_plain}, {geglu_cpu, geglu_plain}}) {
    const Function kernel = [cpu = cpu](const Arrays& in) { return Arrays{cpu(in[0])}; };
    const Function twin = [plain = plain](const Arrays& in) { return Arrays{plain(in[0])}; };
    for (int F : {3, 16, 448}) {
      CAPTURE(F);
      check_twins(kernel, twin, {noise({2, 33, 2 * F}, 5, 3)});
    }
    const mx::array far = mx::array({-200.0f, 200.0f, -90.0f, 1.0f, 2.0f, 3.0f}, {1, 6});
    check_twins(kernel, twin, {far});
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "expert_product: kernel and twin, with experts that no row goes to" * cpu_kernels) {
  for (auto [rows, in, out] : {std::tuple{1, 8, 24}, {7, 20, 5}, {300, 96, 130}}) {
    CAPTURE(rows);
    std::vector<int32_t> expert;
    for (int m = 0; m < rows; m++) {
      expert.push_back(m * 7 / rows);
    }
    if (rows > 1) {
      expert.back() = 8;
    }
    const mx::array expert_M(expert.begin(), {rows}, mx::int32);
    check_twins(
        [&](const Arrays& a) { return Arrays{expert_product_cpu(a[0], a[1], expert_M)}; },
        [&](const Arrays& a) { return Arrays{expert_product_plain(a[0], a[1], expert_M)}; },
        {noise({rows, in}, 20), noise({9, out, in}, 21)},
        1e-4);
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "split_heads: kernel and twin, with and without norms, shared and own angles" * cpu_kernels) {
  for (int E : {16, 20, 64}) {
    for (int B : {1, 3}) {
      CAPTURE(E);
      CAPTURE(B);
      const HeadsSpec spec{4, 2, E, 1e-6f};
      const mx::array qkv = noise({3, 7, 8 * E}, 6), cos = noise({B, 1, 7, E}, 7),
                      sin = noise({B, 1, 7, E}, 8);
      auto normed = [&](auto f) {
        return [&, f](const Arrays& in) {
          const Heads h = f(in[0], in[1], in[2], cos, sin, spec);
          return Arrays{h.q, h.k, h.v};
        };
      };
      auto bare = [&](auto f) {
        return [&, f](const Arrays& in) {
          const Heads h = f(in[0], std::nullopt, std::nullopt, cos, sin, spec);
          return Arrays{h.q, h.k, h.v};
        };
      };
      check_twins(
          normed(split_heads_cpu),
          normed(split_heads_plain),
          {qkv, noise({E}, 9), noise({E}, 10)},
          1e-4);
      check_twins(bare(split_heads_cpu), bare(split_heads_plain), {qkv});
    }
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "rms_norm_branch: gradients of both that go on meet" * cpu_kernels) {
  for (int D : {5, 160}) {
    check_twins(
        [](const Arrays& in) {
          const NormBranch out = rms_norm_branch_cpu(in[0], in[1], 1e-5f);
          return Arrays{out.x, out.normed};
        },
        [](const Arrays& in) { return Arrays{in[0], rms_norm_plain(in[0], in[1], 1e-5f)}; },
        {noise({3, 70, D}, 60), noise({D}, 61)},
        1e-4);
  }
}

TEST_CASE_FIXTURE(testing::OnCpu, "adamw: kernel and twin" * cpu_kernels) {
  const mx::array p = noise({1000, 37}, 62), g = noise({1000, 37}, 63),
                  m = noise({1000, 37}, 64, 0.1f), v = mx::square(noise({1000, 37}, 65, 0.1f));
  const AdamWNumbers numbers{0.9f, 0.999f, 1e-8f, 0.1f, 0.001f, 0.9999f, 1e-3f, 3.0f};
  const AdamWMoved a = adamw_cpu(p, g, m, v, numbers), b = adamw_plain(p, g, m, v, numbers);
  check_same({a.parameter, a.m, a.v}, {b.parameter, b.m, b.v}, 1e-6);
}

TEST_CASE_FIXTURE(testing::OnCpu, "tiles: numbers placed and taken as the twins do" * cpu_kernels) {
  const Tiles tiles({
      {0, 0, 16, 100, 100, 0, 1.0f},
      {1600, 1600, 70, 16, 48, 0, 2.0f},
      {2720, 4960, 30, 32, 48, 16, 0.5f},
      {0, 6400, 5, 0, 48, 0, 0.0f},
      {3680, 6640, 32, 100, 100, 0, 1.0f},
  });
  const mx::array from = noise({6880}, 66), other = noise({static_cast<int>(tiles.size)}, 67);
  check_same({place_tiles_cpu(from, tiles)}, {place_tiles_plain(from, tiles, mx::float32)}, 1e-9);
  check_same({take_tiles_cpu(other, tiles)}, {take_tiles_plain(other, tiles)}, 1e-9);
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "lora_product: kernel and twin, few rows and many, alone and onto" * cpu_kernels) {
  for (auto [N, I, O, R] :
       {std::tuple{1, 40, 70, 4}, {16, 128, 300, 48}, {17, 7, 9, 2}, {300, 160, 512, 32}}) {
    CAPTURE(N);
    const mx::array w = noise({O, I}, 31);
    for (bool onto : {false, true}) {
      auto through = [&, onto](auto f) {
        return [&, onto, f](const Arrays& in) {
          LoraProduct p{in[0], w, in[1], in[2]};
          if (onto) {
            p.onto = in[3];
          }
          return Arrays{f(p)};
        };
      };
      Arrays in{noise({N, I}, 30), noise({R, I}, 32), noise({O, R}, 33, 0.1f)};
      if (onto) {
        in.push_back(noise({N, O}, 34));
      }
      check_twins(through(lora_product_cpu), through(lora_product_plain), in, 2e-4);
    }
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "attend: kernel and twin, with norms and without, windowed and ragged" * cpu_kernels) {
  for (auto [E, L] : {std::pair{16, 5}, {20, 40}, {32, 70}}) {
    for (int window : {0, 7}) {
      CAPTURE(E);
      CAPTURE(window);
      const HeadsSpec heads{4, 2, E, 1e-6f};
      const AttentionSpec spec{
          window ? std::vector<int32_t>{0, 2, 3} : std::vector<int32_t>{}, 0.2, window};
      const mx::array qkv = noise({3, L, 8 * E}, 40), cos = noise({1, 1, L, E}, 41),
                      sin = noise({1, 1, L, E}, 42);
      auto normed = [&](auto f) {
        return [&, f](const Arrays& in) {
          return Arrays{f(in[0], in[1], in[2], cos, sin, heads, spec)};
        };
      };
      auto bare = [&](auto f) {
        return [&, f](const Arrays& in) {
          return Arrays{f(in[0], std::nullopt, std::nullopt, cos, sin, heads, spec)};
        };
      };
      check_twins(
          normed(attend_cpu), normed(attend_plain), {qkv, noise({E}, 43), noise({E}, 44)}, 1e-4);
      check_twins(bare(attend_cpu), bare(attend_plain), {qkv}, 1e-4);
    }
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "decode_attend: the same as heads, cache and attention apart" * cpu_kernels) {
  for (int E : {16, 20, 32}) {
    const int B = 3, S = 40, slot = 37;
    const HeadsSpec heads{4, 2, E, 1e-6f};
    const mx::array qkv = noise({B, 1, 8 * E}, 50), cos = noise({B, 1, 1, E}, 51),
                    sin = noise({B, 1, 1, E}, 52), q_norm = noise({E}, 53), k_norm = noise({E}, 54);
    for (const AttentionSpec& spec :
         {AttentionSpec{{}, 0.3}, {{0, 5, 37}, 0.3}, {{0, 5, 30}, 0.3, 9}}) {
      const mx::array k = noise({B, 2, S, E}, 55), v = noise({B, 2, S, E}, 56);
      const Heads now = split_heads_plain(qkv, q_norm, k_norm, cos, sin, heads);
      const mx::Shape to{B, 2, slot + 1, E};
      const mx::array k_after = mx::slice_update(k, now.k, {0, 0, slot, 0}, to),
                      v_after = mx::slice_update(v, now.v, {0, 0, slot, 0}, to);
      const mx::array y = attention_plain(
          now.q, mx::slice(k_after, {0, 0, 0, 0}, to), mx::slice(v_after, {0, 0, 0, 0}, to), spec);
      mx::eval(y, k_after, v_after);
      const DecodedHeads d =
          decode_attend_cpu(qkv, q_norm, k_norm, cos, sin, heads, k, v, slot, spec);
      check_same(
          {d.y, d.k_cache, d.v_cache}, {mx::reshape(y, {B, 1, 4 * E}), k_after, v_after}, 2e-5);
    }
  }
}

TEST_CASE_FIXTURE(testing::OnCpu, "product: kernel and twin, few rows and many" * cpu_kernels) {
  for (auto [N, I, O] :
       {std::tuple{1, 40, 70},
        {5, 16, 3},
        {300, 160, 512},
        {64, 7, 9},
        {1, 600, 9000},
        {2000, 64, 40}}) {
    CAPTURE(N);
    check_twins(
        [](const Arrays& in) { return Arrays{product_cpu(in[0], in[1])}; },
        [](const Arrays& in) { return Arrays{product_plain(in[0], in[1])}; },
        {noise({N, I}, 20), noise({O, I}, 21)},
        2e-4);
  }
  const mx::array w = noise({30, 8}, 22);
  check_twins(
      [&](const Arrays& in) { return Arrays{product_cpu(mx::swapaxes(in[0], 1, 2), w)}; },
      [&](const Arrays& in) { return Arrays{product_plain(mx::swapaxes(in[0], 1, 2), w)}; },
      {noise({4, 8, 11}, 23)});
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "attention: kernel and twin, square, behind a cache, with late rows and windows" *
        cpu_kernels) {
  for (const std::vector<int32_t>& start :
       {std::vector<int32_t>{}, std::vector<int32_t>{0, 3, 9}}) {
    for (auto [L, S, window] :
         {std::tuple{10, 10, 0},
          {4, 37, 0},
          {1, 21, 0},
          {50, 50, 0},
          {50, 50, 1},
          {10, 37, 8},
          {9, 9, 40}}) {
      CAPTURE(L);
      CAPTURE(window);
      const AttentionSpec spec{start, 0.3, window};
      check_twins(
          [&](const Arrays& in) { return Arrays{attention_cpu(in[0], in[1], in[2], spec)}; },
          [&](const Arrays& in) { return Arrays{attention_plain(in[0], in[1], in[2], spec)}; },
          {noise({3, 6, L, 20}, 11), noise({3, 2, S, 20}, 12), noise({3, 2, S, 20}, 13)},
          5e-5);
    }
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "attention within a window is attention behind the mask that says so" * cpu_kernels) {
  const int L = 9, S = 15, window = 4;
  const mx::array q = noise({2, 4, L, 16}, 11), k = noise({2, 2, S, 16}, 12),
                  v = noise({2, 2, S, 16}, 13);
  std::vector<float> seen;
  for (int l = 0; l < L; l++) {
    for (int s = 0; s < S; s++) {
      const int at = S - L + l;
      seen.push_back(s <= at && at - s < window ? 0.0f : -INFINITY);
    }
  }
  const mx::array mask(seen.begin(), {1, 1, L, S}, mx::float32);
  const mx::array expected = mx::fast::scaled_dot_product_attention(q, k, v, 0.25f, "array", mask);
  CHECK(excess(attention_cpu(q, k, v, {{}, 0.25, window}), expected, 2e-5, 2e-5) <= 1);
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "decode_attention: kernel and twin, on views of a longer cache" * cpu_kernels) {
  for (int E : {16, 20, 64}) {
    for (const std::vector<int32_t>& start :
         {std::vector<int32_t>{}, std::vector<int32_t>{0, 30, 39}}) {
      for (int window : {0, 1, 7, 64}) {
        const mx::array q = noise({3, 6, 1, E}, 12, 2);
        auto view = [&](uint32_t i) {
          return mx::slice(noise({3, 2, 64, E}, i), {0, 0, 0, 0}, {3, 2, 40, E});
        };
        const mx::array k = view(13), v = view(14);
        const AttentionSpec spec{start, 0.25, window};
        check_same({decode_attention_cpu(q, k, v, spec)}, {attention_plain(q, k, v, spec)}, 2e-5);
      }
    }
  }
}

TEST_CASE_FIXTURE(testing::OnCpu, "draw: kernel and twin" * cpu_kernels) {
  for (int V : {7, 512, 5000}) {
    for (float temperature : {1.0f, 0.6f, 1.5f}) {
      const mx::array logits = noise({300, V}, 15, 3),
                      u = mx::random::uniform(
                          {300}, mx::float32, random_key(1, Stream::sampling, 0));
      const DrawnTokens a = draw_cpu(logits, temperature, u),
                        b = draw_plain(logits, temperature, u);
      // Where the aim lies within rounding of a step of the distribution, the two may choose neighbours.
      const mx::array same = mx::equal(a.token, b.token);
      CHECK(mx::sum(mx::astype(same, mx::int32)).item<int>() >= 298);
      CHECK(excess(a.logprob, b.logprob, 3e-5, 1e-5, same) <= 1);
      CHECK(excess(a.raw_logprob, b.raw_logprob, 3e-5, 1e-5, same) <= 1);
    }
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "kernels are refused for other types and when switched off" * cpu_kernels) {
  const mx::array x = noise({4}, 1);
  CHECK(cpu_kernels_for(x) == (mx::default_device() == mx::Device::cpu));
  CHECK(!cpu_kernels_for(mx::astype(x, mx::bfloat16)));
  use_kernels(false);
  CHECK(!cpu_kernels_for(x));
  use_kernels(true);
}
