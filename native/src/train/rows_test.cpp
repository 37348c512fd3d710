#include "train/rows.h"

#include "core/error.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace atelier;

namespace {

std::vector<std::vector<int>> each_alone(int rows) {
  std::vector<std::vector<int>> units;
  for (int i = 0; i < rows; i++) {
    units.push_back({i});
  }
  return units;
}

}  // namespace

TEST_CASE("micro-batches hold every row once and keep to the limit") {
  std::vector<int32_t> targets{5, 1, 9, 9, 0, 3, 7, 2};
  for (Buckets buckets : {Buckets{}, Buckets{4, 2}, Buckets{128, 8}}) {
    for (int limit : {1, 10, 20, 1000}) {
      std::vector<int> seen;
      for (const auto& batch : plan_batches(each_alone(8), targets, limit, buckets)) {
        seen.insert(seen.end(), batch.rows.begin(), batch.rows.end());
        CHECK((
            batch.rows.size() == 1 || static_cast<int>(batch.rows.size()) * batch.length <= limit));
        CHECK(batch.length % buckets.multiple == 0);
        for (int row : batch.rows) {
          CHECK(targets[row] <= batch.length);
        }
      }
      std::sort(seen.begin(), seen.end());
      CHECK(seen == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
    }
  }
}

TEST_CASE("rows that belong together stay together") {
  std::vector<int32_t> targets{5, 1, 9, 9, 4, 3};
  auto batches = plan_batches({{0, 3}, {1, 2}, {4, 5}}, targets, 10, {});
  REQUIRE(batches.size() == 3);
  for (const auto& batch : batches) {
    CHECK(batch.rows.size() == 2);
  }
}

TEST_CASE("a GPU's lengths come in few shapes") {
  std::vector<int32_t> targets;
  for (int i = 1; i <= 2000; i += 7) {
    targets.push_back(i);
  }
  auto batches =
      plan_batches(each_alone(static_cast<int>(targets.size())), targets, 4096, {128, 8});
  std::vector<int> lengths;
  for (const auto& batch : batches) {
    lengths.push_back(batch.length);
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  CHECK(lengths.size() <= 8);
}

TEST_CASE("wrong rows are refused by name") {
  CHECK_THROWS_WITH_AS(
      (Rows{{1, 2, 3}, {2}}.check("rows", 10, 10)),
      "rows.ids has 3 entries but lengths add up to 2",
      Error);
  CHECK_THROWS_WITH_AS(
      (Rows{{1, 12}, {2}}.check("rows", 10, 10)),
      "rows.ids[1] is 12; the vocabulary has 10 tokens",
      Error);
  CHECK_THROWS_AS((Rows{{1}, {0, 1}}.check("rows", 10, 10)), Error);
  CHECK_THROWS_AS((Rows{{1, 1, 1}, {3}}.check("rows", 10, 2)), Error);
}
