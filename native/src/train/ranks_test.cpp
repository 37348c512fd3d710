#include "train/ranks.h"

#include "core/error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace atelier;

TEST_CASE("units are dealt whole, each once, by tokens") {
  const std::vector<int32_t> targets{9, 9, 3, 1, 20, 4, 4, 4};
  const std::vector<std::vector<int>> units{{0, 1}, {2}, {3}, {4}, {5, 6, 7}};
  for (int size : {1, 2, 3, 7}) {
    std::set<std::vector<int>> dealt;
    size_t count = 0;
    for (int rank = 0; rank < size; rank++) {
      const auto share = share_of(units, targets, rank, size);
      CHECK(std::is_sorted(share.begin(), share.end()));
      dealt.insert(share.begin(), share.end());
      count += share.size();
    }
    CHECK(count == units.size());
    CHECK(dealt == std::set<std::vector<int>>(units.begin(), units.end()));
  }
  // 20, 4, 2, 21 and 15 tokens
  CHECK(share_of(units, targets, 0, 2) == std::vector<std::vector<int>>{{2}, {3}, {4}});
}

TEST_CASE("one engine alone waits for nobody") {
  const Ranks alone;
  CHECK(alone.size() == 1);
  CHECK(alone.rank() == 0);
  CHECK(alone.sum({1.5f, 2.0f}) == std::vector<float>{1.5f, 2.0f});
  CHECK(alone.gather({0.1}) == std::vector<std::vector<double>>{{0.1}});
  CHECK_THROWS_AS(alone.together([] { throw Error(ErrorCode::io, "no"); }), Error);
}

TEST_CASE("a backend that MLX was not built with is said to be missing") {
  CHECK_THROWS_WITH_AS(
      Ranks("smoke"),
      doctest::Contains("no 'smoke', through which several devices work together"),
      Error);
}
