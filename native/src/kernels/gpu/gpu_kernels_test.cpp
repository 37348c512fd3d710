// Each CUDA kernel against its plain-op twin on f32 copies of the same numbers; nothing to see without a GPU.
#include "core/random.h"
#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/draw.h"
#include "kernels/gpu/compile.h"
#include "kernels/gpu/decode_lines.h"
#include "kernels/gpu/kernel.h"
#include "kernels/gpu/replay.h"
#include "kernels/heads.h"
#include "kernels/lora_sum.h"
#include "kernels/product.h"
#include "kernels/rms_norm.h"
#include "kernels/swiglu.h"
#include "kernels/thin_product.h"
#include "kernels/tiles.h"
#include "kernels/token_head.h"
#include "kernels/uniforms.h"
#include "kernels/write_slot.h"
#include "testing/fixtures.h"
#include "testing/on_gpu.h"

#include <doctest/doctest.h>

using namespace atelier;
using namespace atelier::testing;

namespace {

using Function = std::function<Arrays(const Arrays&)>;

mx::array noise(mx::Shape shape, uint32_t index, mx::Dtype dtype, float scale = 1) {
  mx::array x = mx::astype(
      mx::random::normal(shape, mx::float32, 0, scale, random_key(9, Stream::weights, index)),
      dtype);
  mx::eval(x);
  return x;
}

Arrays as_f32(const Arrays& arrays) {
  Arrays out;
  for (const mx::array& a : arrays) {
    out.push_back(mx::issubdtype(a.dtype(), mx::floating) ? mx::astype(a, mx::float32) : a);
  }
  return out;
}

double tolerance_of(mx::Dtype dtype) {
  return dtype == mx::float32 ? 2e-5 : dtype == mx::float16 ? 2e-3 : 1e-2;
}

void check_same(const Arrays& a, const Arrays& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); i++) {
    CAPTURE(i);
    const mx::array x = as_f32(a)[i], y = as_f32(b)[i];
    if (tolerance == 0) {
      CHECK(mx::array_equal(x, y).item<bool>());
    } else {
      CHECK(excess(x, y, tolerance, tolerance) <= 1);
    }
  }
}

// DecodeRows::alike_B2 where no row is another's copy.
mx::array alone(int B) {
  return mx::stack({mx::arange(B, mx::int32), mx::zeros({B}, mx::int32)}, 1);
}

// Values, and gradients under random cotangents.
void check_twins(
    const Function& kernel,
    const Function& plain,
    const Arrays& inputs,
    double tolerance) {
  const Arrays values = kernel(inputs);
  check_same(values, plain(as_f32(inputs)), tolerance);
  Arrays cotangents;
  for (size_t i = 0; i < values.size(); i++) {
    cotangents.push_back(noise(values[i].shape(), 100 + i, values[i].dtype()));
  }
  check_same(
      mx::vjp(kernel, inputs, cotangents).second,
      mx::vjp(plain, as_f32(inputs), as_f32(cotangents)).second,
      2 * tolerance);
}

const std::vector<mx::Dtype> types{mx::float32, mx::float16, mx::bfloat16};

// Of so many launches of a step that computes it.
Arrays recorded(const std::function<mx::array()>& compute, int runs) {
  Replay replay([&](const Arrays&) { return Arrays{mx::astype(compute(), mx::float32)}; }, {});
  Arrays out;
  for (int i = 0; i < runs; i++) {
    out.push_back(replay.run()[0]);
  }
  mx::eval(out);
  return out;
}

}  // namespace

TEST_CASE("gpu rms_norm: kernel and twin, frozen and trained weight" * on_gpu) {
  for (const mx::Dtype& type : types) {
    for (int D : {8, 160, 1024, 5120}) {
      CAPTURE(D);
      const mx::array x = noise({3, 70, D}, 1, type), w = noise({D}, 2, type);
      const mx::array wide = mx::astype(w, mx::float32);
      REQUIRE(rms_norm_fits_gpu(x, w));
      check_twins(
          [&](const Arrays& in) { return Arrays{rms_norm_gpu(in[0], w, 1e-6f)}; },
          [&](const Arrays& in) { return Arrays{rms_norm_plain(in[0], wide, 1e-6f)}; },
          {x},
          tolerance_of(type));
      check_twins(
          [&](const Arrays& in) { return Arrays{rms_norm_gpu(in[0], in[1], 1e-6f)}; },
          [&](const Arrays& in) { return Arrays{rms_norm_plain(in[0], in[1], 1e-6f)}; },
          {x, w},
          16 * tolerance_of(type));  // MLX's own sum over 210 rows, in that type
    }
  }
}

TEST_CASE("gpu rms_norm_branch: gradients of both that go on meet in one kernel" * on_gpu) {
  for (const mx::Dtype& type : types) {
    const mx::array x = noise({3, 70, 1024}, 1, type), many = noise({3, 700, 1024}, 3, type),
                    w = noise({1024}, 2, type);
    const mx::array wide = mx::astype(w, mx::float32);
    auto own = [](const mx::array& x, const mx::array& w) {
      const NormBranch out = rms_norm_branch_gpu(x, w, 1e-6f);
      return Arrays{out.x, out.normed};
    };
    auto plain = [](const mx::array& x, const mx::array& w) {
      return Arrays{x, rms_norm_plain(x, w, 1e-6f)};
    };
    check_twins(
        [&](const Arrays& in) { return own(in[0], w); },
        [&](const Arrays& in) { return plain(in[0], wide); },
        {many},
        2 * tolerance_of(type));
    check_twins(
        [&](const Arrays& in) { return own(in[0], in[1]); },
        [&](const Arrays& in) { return plain(in[0], in[1]); },
        {x, w},
        16 * tolerance_of(type));  // MLX's own sum over 210 rows, in that type
  }
}

TEST_CASE("gpu tiles: numbers placed and taken as the twins do" * on_gpu) {
  const Tiles tiles({
      {0, 0, 16, 1000, 1000, 0, 1.0f},
      {48000, 16000, 700, 16, 48, 0, 2.0f},
      {59200, 49600, 300, 32, 48, 16, 0.5f},
      {0, 64000, 5, 0, 48, 0, 0.0f},
      {16000, 64240, 32, 1000, 1000, 0, 1.0f},
  });
  const mx::array from = noise({68800}, 1, mx::float32);
  for (const mx::Dtype& type : types) {
    check_same({place_tiles_gpu(from, tiles, type)}, {place_tiles_plain(from, tiles, type)}, 0);
    const mx::array other = noise({static_cast<int>(tiles.size)}, 2, type);
    check_same({take_tiles_gpu(other, tiles)}, {take_tiles_plain(other, tiles)}, 0);
  }
}

TEST_CASE("gpu adamw: kernel and twin" * on_gpu) {
  const mx::array p = noise({1000, 37}, 1, mx::float32), g = noise({1000, 37}, 2, mx::float32),
                  m = noise({1000, 37}, 3, mx::float32, 0.1f),
                  v = mx::square(noise({1000, 37}, 4, mx::float32, 0.1f));
  const AdamWNumbers numbers{0.9f, 0.999f, 1e-8f, 0.1f, 0.001f, 0.9999f, 1e-3f, 3.0f};
  const AdamWMoved a = adamw_gpu(p, g, m, v, numbers), b = adamw_plain(p, g, m, v, numbers);
  check_same({a.parameter, a.m, a.v}, {b.parameter, b.m, b.v}, 1e-6);
}

TEST_CASE("gpu swiglu: kernel and twin" * on_gpu) {
  for (const mx::Dtype& type : types) {
    for (int F : {8, 24, 3072}) {
      CAPTURE(F);
      check_twins(
          [](const Arrays& in) { return Arrays{swiglu_gpu(in[0])}; },
          [](const Arrays& in) { return Arrays{swiglu_plain(in[0])}; },
          {noise({2, 33, 2 * F}, 5, type, 3)},
          tolerance_of(type));
    }
  }
}

TEST_CASE(
    "gpu split_heads: kernel and twin, with and without norms, shared and own angles" * on_gpu) {
  for (const mx::Dtype& type : types) {
    for (int E : {64, 128, 256}) {
      for (int B : {1, 3}) {
        CAPTURE(E);
        const HeadsSpec spec{4, 2, E, 1e-6f};
        const mx::array qkv = noise({3, 7, 8 * E}, 6, type),
                        cos = noise({B, 1, 7, E}, 7, mx::float32),
                        sin = noise({B, 1, 7, E}, 8, mx::float32), wq = noise({E}, 9, type),
                        wk = noise({E}, 10, type);
        auto of = [&](auto f, std::optional<mx::array> q, std::optional<mx::array> k) {
          return [=](const Arrays& in) {
            const Heads h = f(in[0], q, k, cos, sin, spec);
            return Arrays{h.q, h.k, h.v};
          };
        };
        check_twins(
            of(split_heads_gpu, wq, wk),
            of(split_heads_plain, mx::astype(wq, mx::float32), mx::astype(wk, mx::float32)),
            {qkv},
            4 * tolerance_of(type));
        check_twins(
            of(split_heads_gpu, std::nullopt, std::nullopt),
            of(split_heads_plain, std::nullopt, std::nullopt),
            {qkv},
            2 * tolerance_of(type));
      }
    }
  }
}

TEST_CASE("gpu decode_attention and write_slot: kernels and twins, one part and many" * on_gpu) {
  for (const mx::Dtype& type : {mx::float16, mx::bfloat16}) {
    for (auto [B, H, K, E, S] :
         {std::tuple{3, 4, 2, 64, 64},
          {2, 16, 8, 128, 512},
          {200, 8, 4, 128, 128},
          {1, 8, 1, 256, 1024},
          {300, 6, 6, 64, 192}}) {
      CAPTURE(B);
      for (int slot : {0, 37, S - 1}) {
        std::vector<int32_t> starts;
        for (int b = 0; b < B; b++) {
          starts.push_back(slot == 0 ? 0 : (7 * b) % (slot + 1));
        }
        const mx::array q = noise({B, H, 1, E}, 12, type, 2), start(starts.begin(), {B}, mx::int32),
                        at({slot}, mx::int32), k = noise({B, K, 1, E}, 15, type),
                        v = noise({B, K, 1, E}, 16, type);
        mx::array k_cache = noise({B, K, S, E}, 13, type), v_cache = noise({B, K, S, E}, 14, type);
        const Arrays plain =
            as_f32({mx::slice_update(k_cache, k, at, {2}), mx::slice_update(v_cache, v, at, {2})});
        mx::eval(plain);
        const auto [keys, values] = write_slot_gpu(k, v, at, k_cache, v_cache);
        check_same({keys, values}, plain, 0);
        const DecodeRows rows{at, start, alone(B)};
        for (int window : {0, 16}) {
          const AttentionSpec spec{{}, 0.11, window};
          check_same(
              {decode_attention_gpu(q, keys, values, rows, spec)},
              {decode_attention_plain(mx::astype(q, mx::float32), plain[0], plain[1], rows, spec)},
              tolerance_of(type));
        }
      }
    }
  }
}

TEST_CASE(
    "gpu decode_heads: what split_heads, write_slot and attention do one after the other" *
    on_gpu) {
  for (const mx::Dtype& type : {mx::float16, mx::bfloat16}) {
    for (auto [B, H, K, E, S, shared] :
         {std::tuple{3, 4, 2, 64, 64, true},
          {1, 16, 8, 128, 1024, false},
          {2, 16, 8, 128, 512, false},
          {200, 8, 4, 128, 128, false},
          {1, 8, 1, 256, 1024, true},
          {300, 6, 6, 64, 192, false}}) {
      CAPTURE(B);
      CAPTURE(E);
      for (auto [slot, window, normed] :
           {std::tuple{0, 0, true}, {37, 16, false}, {S - 1, 0, true}}) {
        CAPTURE(slot);
        std::vector<int32_t> starts;
        for (int b = 0; b < B; b++) {
          starts.push_back(slot == 0 ? 0 : (7 * b) % (slot + 1));
        }
        const int angles = shared ? 1 : B;
        const mx::array qkv = noise({B, 1, (H + 2 * K) * E}, 1, type, 2),
                        start(starts.begin(), {B}, mx::int32), at({slot}, mx::int32),
                        cos = noise({angles, 1, 1, E}, 4, mx::float32),
                        sin = noise({angles, 1, 1, E}, 5, mx::float32);
        std::optional<mx::array> q_norm, k_norm;
        if (normed) {
          q_norm = noise({E}, 2, type);
          k_norm = noise({E}, 3, type);
        }
        auto cache = [&](uint32_t index) { return noise({B, K, S, E}, index, type); };
        const HeadsSpec heads{H, K, E, 1e-6f};
        const AttentionSpec spec{{}, 0.11, window};
        const DecodeRows rows{at, start, alone(B)};
        mx::array k1 = cache(6), v1 = cache(7);
        REQUIRE(decode_heads_fits_gpu(qkv, q_norm, cos, heads, k1));
        const DecodedHeads own =
            decode_heads_gpu(qkv, q_norm, k_norm, cos, sin, heads, k1, v1, rows, spec);
        const Heads now = split_heads_gpu(qkv, q_norm, k_norm, cos, sin, heads);
        const auto [k, v] = write_slot_gpu(now.k, now.v, at, cache(6), cache(7));
        check_same({own.v_cache}, {v}, 0);
        check_same(
            {own.y, own.k_cache},
            {decode_attention_gpu(now.q, k, v, rows, spec), k},
            tolerance_of(type));
      }
    }
  }
}

// Prompts sampled from several times, whose tokens end before `until`, in lines as decode_lines_gpu wants them.
struct Copies {
  std::vector<int32_t> starts, alike, lines, sources;

  Copies(int times, int until) {
    // Copies of each, and its length: few, short, a line and more; the last lines' rows have nothing in common.
    const std::vector<std::pair<int, int>> prompts{
        {8, 300}, {1, 200}, {5, 32}, {3, 31}, {17, 431}, {2, 63}, {8, 97}, {4, 128}};
    std::vector<int32_t> rest;
    auto begin_line = [&] { lines.resize((lines.size() + 7) / 8 * 8, -1); };
    for (int n = 0; n < times; n++) {
      for (auto [count, length] : prompts) {
        const auto from = static_cast<int32_t>(starts.size());
        for (int c = 0; c < count; c++) {
          (count < 3 || c == 16 ? rest : lines).push_back(from + c);
          alike.insert(alike.end(), {from, count > 1 ? until : 0});
          starts.push_back(until - length);
          sources.push_back(from);
        }
        begin_line();
      }
    }
    lines.insert(lines.end(), rest.begin(), rest.end());
    begin_line();
  }

  int rows() const {
    return static_cast<int>(starts.size());
  }
  DecodeRows at(int slot) const {
    DecodeRows made{
        mx::array({slot}),
        mx::array(starts.begin(), {rows()}, mx::int32),
        mx::array(alike.begin(), {rows(), 2}, mx::int32)};
    made.lines_T8 = mx::array(lines.begin(), {static_cast<int>(lines.size()) / 8, 8}, mx::int32);
    return made;
  }
};

TEST_CASE(
    "gpu decode_lines: what decode_heads does, with copies whose common part is spoilt" * on_gpu) {
  struct Case {
    mx::Dtype type;
    int H, K, E, S, times, slot, until;
    bool normed, shared;
  };
  const mx::Dtype f16 = mx::float16, bf16 = mx::bfloat16;
  for (const Case& c : std::vector<Case>{
           {bf16, 16, 8, 128, 512, 2, 480, 450, true, false},
           {f16, 16, 8, 128, 512, 2, 450, 450, true, true},
           {bf16, 8, 8, 64, 512, 2, 511, 450, false, false},
           {bf16, 12, 4, 128, 1024, 3, 1023, 450, true, false},
           {bf16, 32, 8, 128, 512, 1, 480, 450, true, false},
           {f16, 10, 2, 64, 512, 5, 470, 440, false, false},
           {bf16, 12, 2, 64, 512, 5, 450, 450, true, false},
           {bf16, 14, 2, 64, 512, 5, 480, 450, true, false},
           {bf16, 16, 2, 128, 512, 4, 480, 450, true, false}}) {
    const mx::Dtype type = c.type;
    CAPTURE(c.H);
    CAPTURE(c.K);
    CAPTURE(c.slot);
    const Copies copies(c.times, c.until);
    const int B = copies.rows(), angles = c.shared ? 1 : B;
    const DecodeRows together = copies.at(c.slot);
    const mx::array qkv = noise({B, 1, (c.H + 2 * c.K) * c.E}, 1, type, 2),
                    cos = noise({angles, 1, 1, c.E}, 4, mx::float32),
                    sin = noise({angles, 1, 1, c.E}, 5, mx::float32),
                    source(copies.sources.begin(), {B}, mx::int32);
    std::optional<mx::array> norm;
    if (c.normed) {
      norm = noise({c.E}, 2, type);
    }
    const mx::array in_common =
        mx::less(mx::reshape(mx::arange(c.S, mx::int32), {1, 1, c.S, 1}), mx::array(c.until));
    const mx::array copy = mx::logical_and(
        in_common, mx::reshape(mx::not_equal(source, mx::arange(B, mx::int32)), {B, 1, 1, 1}));
    auto whole = [&](uint32_t index) {
      const mx::array own = noise({B, c.K, c.S, c.E}, index, type);
      return mx::where(in_common, mx::take(own, source, 0), own);
    };
    auto spoilt = [&](const mx::array& cache) {
      return mx::where(copy, mx::array(NAN, type), cache);
    };
    auto unspoilt = [&](const mx::array& cache) {
      return mx::where(copy, mx::array(0, type), cache);
    };
    const HeadsSpec heads{c.H, c.K, c.E, 1e-6f};
    const AttentionSpec spec{{}, 0.11, 0};
    auto decoded = [&](const mx::array& k, const mx::array& v, const DecodeRows& rows) {
      return decode_heads_gpu(qkv, norm, norm, cos, sin, heads, k, v, rows, spec);
    };
    REQUIRE(decode_lines_fit_gpu(qkv, heads, together, spec));
    const DecodedHeads apart =
        decoded(whole(6), whole(7), {together.slot, together.start_B, alone(B)});
    mx::eval(apart.y, apart.k_cache, apart.v_cache);
    for (int again = 0; again < 2; again++) {
      const DecodedHeads own = decoded(spoilt(whole(6)), spoilt(whole(7)), together);
      check_same({own.y}, {mx::astype(apart.y, mx::float32)}, 2 * tolerance_of(type));
      check_same(
          {unspoilt(own.k_cache)},
          {mx::astype(unspoilt(apart.k_cache), mx::float32)},
          2 * tolerance_of(type));
      check_same({unspoilt(own.v_cache)}, {unspoilt(apart.v_cache)}, 0);
    }
  }
}

TEST_CASE("gpu draw: kernel and twin, and what is not a number stays one" * on_gpu) {
  for (int V : {8, 512, 5000, 151936}) {
    for (float temperature : {1.0f, 0.6f, 1.5f}) {
      const mx::array logits = noise({300, V}, 15, mx::float32, 3),
                      u = mx::random::uniform(
                          {300}, mx::float32, random_key(1, Stream::sampling, 0));
      const DrawnTokens a = draw_gpu(logits, temperature, u),
                        b = draw_plain(logits, temperature, u);
      const mx::array same = mx::equal(a.token, b.token);
      CHECK(mx::sum(mx::astype(same, mx::int32)).item<int>() >= 296);
      CHECK(excess(a.logprob, b.logprob, 5e-5, 2e-5, same) <= 1);
      CHECK(excess(a.raw_logprob, b.raw_logprob, 5e-5, 2e-5, same) <= 1);
    }
  }
  mx::array bad = mx::zeros({1, 512});
  bad = mx::where(mx::equal(mx::arange(512, mx::int32), mx::array(77)), mx::array(NAN), bad);
  CHECK(std::isnan(draw_gpu(bad, 1, mx::array({0.5f})).logprob.item<float>()));
  // A filtered vocabulary: only what is left is ever drawn.
  const mx::array few = mx::where(
      mx::less(mx::arange(512, mx::int32), mx::array(500)), mx::array(-INFINITY), mx::array(0.0f));
  for (float u : {0.0f, 0.5f, 0.9999f}) {
    CHECK(draw_gpu(mx::reshape(few, {1, 512}), 1, mx::array({u})).token.item<int>() >= 500);
  }
}

TEST_CASE("gpu uniforms are core/random's" * on_gpu) {
  const uint64_t seed = (uint64_t{1} << 52) + 12345;
  const mx::array u = uniforms_gpu(
      mx::array({static_cast<int32_t>(seed), static_cast<int32_t>(seed >> 32)}, mx::int32),
      Stream::sampling,
      mx::array({0, 7, -1}, mx::int32),
      mx::array({5, 0, 1 << 30}, mx::int32));
  mx::eval(u);
  CHECK(u.data<float>()[0] == random_uniform(seed, Stream::sampling, 0, 5));
  CHECK(u.data<float>()[1] == random_uniform(seed, Stream::sampling, 7, 0));
  CHECK(u.data<float>()[2] == random_uniform(seed, Stream::sampling, 0xffffffffu, 1 << 30));
}

TEST_CASE("gpu thin_product: kernel and twin, each part of it, rows that fill no tile" * on_gpu) {
  struct Case {
    int N, I, O, R;
    bool onto, norm, gated;
  };
  for (const mx::Dtype& type : {mx::float16, mx::bfloat16}) {
    for (const Case& c : std::vector<Case>{
             {1, 1024, 4096, 48, false, true, false},   {8, 2048, 1024, 16, true, false, false},
             {3, 3072, 1024, 16, true, false, false},   {13, 1024, 6144, 32, false, true, true},
             {8, 4096, 6144, 32, false, true, true},    {16, 1024, 4096, 48, false, true, false},
             {16, 12288, 1024, 0, true, false, false},  {15, 160, 96, 16, false, true, true},
             {17, 1024, 4096, 48, false, true, false},  {64, 2048, 1024, 16, true, false, false},
             {64, 1024, 6144, 32, false, true, true},   {50, 3072, 1024, 0, true, false, false},
             {100, 3072, 1024, 16, true, false, false}, {128, 1024, 6144, 0, false, true, true},
             {129, 1024, 4096, 48, false, true, false}, {256, 2048, 1024, 16, true, false, false},
             {250, 1024, 6144, 32, false, true, true},  {33, 448, 192, 64, false, true, true},
             {100, 192, 320, 0, false, false, false},   {64, 3072, 1024, 16, true, false, false},
             {100, 1024, 6144, 32, false, true, true},  {100, 2048, 1024, 0, true, false, false},
             {17, 1536, 2048, 48, false, true, false},  {17, 4864, 896, 0, true, false, false},
             {17, 896, 9728, 0, false, true, true},     {192, 2048, 2048, 16, true, false, false},
             {17, 896, 896, 0, true, false, false},     {2, 160, 80, 0, true, true, false}}) {
      CAPTURE(c.N);
      CAPTURE(c.O);
      if (c.N > 16 && !gpu_multiplies_tiles()) {
        continue;
      }
      const mx::array x = noise({c.N, 1, c.I}, 1, type), norm = noise({c.I}, 2, type);
      ThinProduct p{x, noise({c.O, c.I}, 3, type, 1 / std::sqrt(float(c.I)))};
      if (c.onto) {
        p.onto = noise({c.N, 1, c.O}, 4, type);
      }
      if (c.R > 0) {
        p.lora = {
            noise({c.R, c.I}, 5, type, 1 / std::sqrt(float(c.I))),
            noise({c.O, c.R}, 6, type, 0.2f)};
      }
      ThinProduct before = p;  // the norm and the gate as a model asks for them
      before.x = c.norm ? rms_norm_gpu(x, norm, 1e-6f) : x;
      if (c.norm) {
        p.norm = ThinProduct::Norm{norm, 1e-6f};
      }
      p.gated = c.gated;
      ThinProduct wide = p;
      wide.x = mx::astype(p.x, mx::float32);
      wide.w = mx::astype(p.w, mx::float32);
      if (p.onto) {
        wide.onto = mx::astype(*p.onto, mx::float32);
      }
      if (p.lora) {
        wide.lora = {mx::astype(p.lora->a, mx::float32), mx::astype(p.lora->b, mx::float32)};
      }
      if (p.norm) {
        wide.norm->w = mx::astype(norm, mx::float32);
      }
      REQUIRE(thin_product_fits_recorded_gpu(p));
      const mx::array twin = thin_product_plain(wide);
      auto own = [&] { return thin_product_gpu(p); };
      auto as_asked = [&] {
        const mx::array y = thin_product_gpu(before);
        return c.gated ? thin_product_gated_gpu(y).value() : y;
      };
      auto made = [&](const std::function<mx::array()>& product) {
        return c.N > thin_product_rows ? recorded(product, 3)
                                       : Arrays{product(), product(), product()};
      };
      // A gate's rounding is multiplied by what it gates.
      const double tolerance = (c.gated ? 6 : 3) * tolerance_of(type);
      mx::eval(x, norm);
      const Arrays same = made(own), asked = made(as_asked);
      check_same({same[0]}, {twin}, tolerance);
      check_same(same, {same[0], same[0], same[0]}, 0);
      check_same(asked, same, 0);
    }
  }
}

TEST_CASE("gpu thin_product: many rows' kernel is for recorded steps alone" * on_gpu) {
  if (!gpu_multiplies_tiles()) {
    MESSAGE("needs compute capability 9.0");
    return;
  }
  const ThinProduct p{noise({64, 1024}, 1, mx::bfloat16), noise({1024, 1024}, 2, mx::bfloat16)};
  CHECK(thin_product_fits_recorded_gpu(p));
  CHECK_FALSE(thin_product_fits_gpu(p));
  recorded(
      [&] {
        CHECK(thin_product_fits_gpu(p));
        return p.x;
      },
      1);
}

TEST_CASE(
    "gpu lora_sum: kernel and twin, with and without a gate, rows that fill no tile" * on_gpu) {
  for (const mx::Dtype& type : {mx::float16, mx::bfloat16}) {
    for (auto [N, O, R] : {std::tuple{256, 6144, 32}, {17, 4096, 48}, {5, 64, 16}, {70, 192, 64}}) {
      CAPTURE(N);
      const mx::array y = noise({N, 1, O}, 1, type), h = noise({N, 1, R}, 2, type),
                      b = noise({O, R}, 3, type, 0.2f), onto = noise({N, 1, O}, 4, type),
                      joined = mx::concatenate({y, h}, -1);
      const Arrays wide = as_f32({y, h, b, onto});
      const mx::array twin = lora_sum_plain({wide[0], wide[1], wide[2]});
      for (const LoraSum& sum : {LoraSum{y, h, b}, LoraSum{joined, std::nullopt, b}}) {
        REQUIRE(lora_sum_fits_gpu(sum));
        const mx::array own = lora_sum_gpu(sum);
        const std::optional<mx::array> gated = lora_sum_gated_gpu(own);
        REQUIRE(gated);
        check_same({own}, {twin}, 2 * tolerance_of(type));
        check_same({*gated}, {swiglu_plain(twin)}, 6 * tolerance_of(type));
        const mx::array beside = lora_sum_gpu({sum.y, sum.h, b, onto});
        CHECK_FALSE(lora_sum_gated_gpu(beside));
        check_same({beside}, {wide[3] + twin}, 2 * tolerance_of(type));
      }
    }
  }
}

TEST_CASE("gpu product_f32: kernel and twin" * on_gpu) {
  for (const mx::Dtype& type : {mx::float16, mx::bfloat16}) {
    for (auto [N, I, O] : {std::tuple{1, 64, 40}, {5, 1024, 3000}, {300, 160, 512}}) {
      const mx::array x = noise({N, I}, 20, type), w = noise({O, I}, 21, type);
      CHECK(product_f32_gpu(x, w).dtype() == mx::float32);
      // The twin's own products round to TF32, which holds these operands exactly.
      check_same({product_f32_gpu(x, w)}, {product_plain(as_f32({x})[0], as_f32({w})[0])}, 2e-4);
    }
  }
}

TEST_CASE("gpu token_head: kernel and twin, with and without probabilities" * on_gpu) {
  // A maximum far above what a row begins with, too.
  for (const auto& [V, high] : {std::pair{8, 0.0f}, {512, 0.0f}, {151936, 0.0f}, {151936, 90.0f}}) {
    const mx::array logits = noise({40, V}, 30, mx::float32, 4) +
                             mx::where(
                                 mx::equal(mx::arange(V, mx::int32), mx::array(V - 3)),
                                 mx::array(high),
                                 mx::array(0.0f)),
                    targets = mx::astype(
                        mx::random::randint(0, V, {40}, mx::int32, random_key(1, Stream::lora, 0)),
                        mx::int32);
    const TokenHead plain = token_head_plain(logits, targets, true);
    for (const std::optional<mx::Dtype>& type :
         {std::optional<mx::Dtype>(), std::optional(mx::float32), std::optional(mx::bfloat16)}) {
      const TokenHead made = token_head_gpu(logits, targets, type);
      check_same({made.logp, made.lse, made.entropy}, {plain.logp, plain.lse, plain.entropy}, 5e-5);
      if (type) {
        const mx::array p = mx::astype(*made.p, mx::float32) * mx::expand_dims(*made.p_scale, 1);
        check_same({p}, {*plain.p}, *type == mx::float32 ? 2e-5 : 5e-3);
      }
    }
  }
}

TEST_CASE("gpu replay: launches overlap, and wait for what they read" * on_gpu) {
  // MLX's own operations at the beginning, beside and between kernels.
  const mx::array w = noise({1024, 1024}, 60, mx::bfloat16, 0.04f),
                  norm = noise({1024}, 61, mx::bfloat16);
  auto step = [&](const Arrays& in) {
    mx::array x = in[0], angle = mx::astype(mx::sum(in[0], -1, true), mx::float32);
    for (int i = 0; i < 12; i++) {
      angle = mx::sin(angle * mx::array(1.7f)) + mx::array(0.3f);
      x = thin_product_gpu({rms_norm_gpu(x, norm, 1e-6f), w, x});
      if (i % 4 == 3) {
        x = mx::astype(mx::astype(x, mx::float32) * angle, mx::bfloat16);
      }
    }
    return Arrays{x, mx::sum(mx::astype(x, mx::float32))};
  };
  auto begin = [] { return Arrays{noise({5, 1024}, 62, mx::bfloat16)}; };
  constexpr int steps = 20;
  std::vector<float> direct;
  Arrays state = begin();
  for (int i = 0; i < steps; i++) {
    Arrays out = step(state);
    mx::eval(out);
    direct.push_back(out[1].item<float>());
    state = {out[0]};
  }
  for (int again = 0; again < 6; again++) {
    Replay replay(step, begin());
    CHECK(replay.overlaps() == gpu_launches_overlap());
    Arrays results;
    for (int i = 0; i < steps; i++) {
      results.push_back(replay.run()[0]);
      mx::async_eval(results.back());
    }
    std::vector<float> recorded;
    for (mx::array& r : results) {
      recorded.push_back(r.item<float>());
    }
    CHECK(recorded == direct);
  }
}

TEST_CASE(
    "gpu replay: a recorded step is the step itself, run after run, in place and not" * on_gpu) {
  const mx::array w = noise({64, 64}, 40, mx::bfloat16, 0.2f);
  auto step = [&](const Arrays& in) {
    const mx::array y = mx::matmul(in[0], mx::transpose(w)) + mx::array(0.5f, mx::bfloat16);
    const auto [k, v] = write_slot_gpu(
        mx::reshape(y, {3, 1, 1, 64}), mx::reshape(in[0], {3, 1, 1, 64}), in[1], in[2], in[3]);
    return Arrays{y, in[1] + mx::array(1, mx::int32), k, v, mx::sum(mx::astype(y, mx::float32))};
  };
  auto begin = [] {
    return Arrays{
        noise({3, 64}, 41, mx::bfloat16),
        mx::array({0}, mx::int32),
        noise({3, 1, 8, 64}, 42, mx::bfloat16),
        noise({3, 1, 8, 64}, 43, mx::bfloat16)};
  };
  Replay replay(step, begin());
  std::vector<float> recorded, direct;
  Arrays results;
  for (int i = 0; i < 5; i++) {
    results.push_back(replay.run()[0]);
    mx::async_eval(results.back());
  }
  for (mx::array& r : results) {
    recorded.push_back(r.item<float>());
  }
  Arrays state = begin();
  for (int i = 0; i < 5; i++) {
    Arrays out = step(state);
    mx::eval(out);
    direct.push_back(out[4].item<float>());
    state.assign(out.begin(), out.begin() + 4);
  }
  CHECK(recorded == direct);
  check_same(replay.state(), state, 0);
}
