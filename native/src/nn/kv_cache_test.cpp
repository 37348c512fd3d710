#include "nn/kv_cache.h"

#include "core/random.h"
#include "testing/fixtures.h"
#include "testing/on_gpu.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace atelier;
using namespace atelier::testing;

namespace {

constexpr int K = 8, S = 192, E = 128;

mx::array noise(mx::Shape shape, uint32_t index, float scale = 1) {
  return mx::astype(
      mx::random::normal(shape, mx::float32, 0, scale, random_key(9, Stream::weights, index)),
      mx::bfloat16);
}

// Three prompts that end in slot 100, and what has been decoded since.
KvCache prefilled(int length) {
  KvCache cache(1, {5, 0, 60});
  cache.alike_until.assign(3, 101);
  cache.length = length;
  cache.layers[0] = {noise({3, K, S, E}, 1), noise({3, K, S, E}, 2), {}, {}};
  return cache;
}

bool equal(const mx::array& a, std::initializer_list<int32_t> numbers) {
  return mx::array_equal(mx::flatten(a), mx::array(numbers)).item<bool>();
}

}  // namespace

TEST_CASE("copies of a prefilled row are known, also after rows are dropped and others join") {
  const KvCache some = take_rows(prefilled(151), {0, 0, 1, 2, 2});
  const DecodeRows of_some = some.decode_rows(mx::array({151}));
  CHECK(equal(of_some.alike_B2, {0, 101, 0, 101, 2, 0, 3, 101, 3, 101}));
  CHECK_FALSE(of_some.lines_T8);  // two alone are no line
  // Without row 1, whose prompt was the longest, the first five slots are empty.
  const KvCache fewer = take_rows(some, {1, 4, 3});
  CHECK(equal(fewer.decode_rows(mx::array({146})).alike_B2, {0, 0, 1, 96, 1, 96}));
  const KvCache more = join_rows({fewer, take_rows(prefilled(101), {1, 1})});
  CHECK(more.length == 146);
  CHECK(equal(more.decode_rows(mx::array({146})).alike_B2, {0, 0, 1, 96, 1, 96, 3, 146, 3, 146}));
  const KvCache many = take_rows(prefilled(101), {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2});
  CHECK(equal(
      *many.decode_rows(mx::array({101})).lines_T8,
      {0, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, -1, -1, -1, -1, -1, 9, 1, -1, -1, -1, -1, -1, -1}));
}

TEST_CASE("gpu decode_attention: copies of a row are read in one of them" * on_gpu) {
  constexpr int H = 16, slot = 150;
  const KvCache taken = take_rows(prefilled(slot + 1), {0, 0, 1, 2, 2, 2, 0});
  const DecodeRows rows = taken.decode_rows(mx::array({slot}));
  const mx::array alike = rows.alike_B2, q = noise({taken.rows(), H, 1, E}, 3, 2);
  const mx::array at =
      mx::reshape(mx::arange(taken.layers[0].k->shape(2), mx::int32), {1, 1, -1, 1});
  const mx::array read_in = mx::reshape(mx::slice(alike, {0, 0}, {taken.rows(), 1}), {-1, 1, 1, 1});
  const mx::array old = mx::less(at, mx::array(101)),
                  copy = mx::not_equal(
                      read_in, mx::reshape(mx::arange(taken.rows(), mx::int32), {-1, 1, 1, 1}));
  // What follows the prompt is a row's own; the copies' prompts are spoilt.
  auto own = [&](const mx::array& x, uint32_t n) { return mx::where(old, x, noise(x.shape(), n)); };
  auto spoilt = [&](const mx::array& x) {
    return mx::where(mx::logical_and(old, copy), mx::array(NAN, mx::bfloat16), x);
  };
  auto wide = [](const mx::array& x) { return mx::astype(x, mx::float32); };
  const mx::array k = own(*taken.layers[0].k, 4), v = own(*taken.layers[0].v, 5);
  for (int window : {0, 70}) {
    const AttentionSpec spec{{}, 0.11, window};
    REQUIRE(decode_attention_fits_gpu(q, k));
    const mx::array one = wide(decode_attention_gpu(q, spoilt(k), spoilt(v), rows, spec)),
                    twin = decode_attention_plain(wide(q), wide(k), wide(v), rows, spec);
    CHECK(excess(one, twin, 1e-2, 1e-2) <= 1);
  }
}
