#include "train/pack.h"

#include "core/error.h"
#include "models/load.h"
#include "testing/fixtures.h"
#include "train/quantities.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace atelier;
using namespace atelier::testing;

TEST_CASE("rows are packed as trl packs them") {
  const Json file = fixture_json("losses/sft_packing.json");
  const int capacity = file["inputs"]["seq_length"];
  std::vector<int> lengths;
  for (const Json& ids : file["inputs"]["input_ids"]) {
    // trl cuts what is longer; here it would not be packed at all.
    lengths.push_back(std::min(static_cast<int>(ids.size()), capacity));
  }
  const auto lines = best_fit_decreasing(lengths, capacity);
  const Json& want = file["expected"]["bfd"];
  REQUIRE(lines.size() == want["input_ids"].size());
  for (size_t line = 0; line < lines.size(); line++) {
    Json ids = Json::array(), sizes = Json::array();
    for (int item : lines[line]) {
      const Json& all = file["inputs"]["input_ids"][static_cast<size_t>(item)];
      ids.insert(ids.end(), all.begin(), all.begin() + lengths[static_cast<size_t>(item)]);
      sizes.push_back(lengths[static_cast<size_t>(item)]);
    }
    CHECK(ids == want["input_ids"][line]);
    CHECK(sizes == want["seq_lengths"][line]);
  }
}

TEST_CASE("packed rows get transformers' log-probabilities of each row alone") {
  const Json file = fixture_json("losses/sft_packing.json");
  int run = 0;
  for (const auto& [name, c] : file["model_equivalence"].items()) {
    std::optional<LoadedModel> loaded;
    try {
      loaded = load_model(fixture("models/" + name), mx::float32);
    } catch (const Error& e) {
      if (e.code == ErrorCode::unsupported_model || e.code == ErrorCode::io) {
        continue;  // a family or a fixture that is not here
      }
      throw;
    }
    run++;
    CAPTURE(name);
    Rows rows;
    rows.ids = c["input_ids"].get<std::vector<int32_t>>();
    rows.lengths = c["piece_lengths"].get<std::vector<int32_t>>();
    std::vector<std::vector<int>> units;
    std::vector<float> want;
    for (size_t row = 0; row < rows.lengths.size(); row++) {
      units.push_back({static_cast<int>(row)});
      for (const Json& logp : c["expected_logprobs_per_piece"][row]) {
        want.push_back(logp.get<float>());
      }
    }
    const Forward forward(rows, {.wanted = {{"logp"}}});
    const auto plan = plan_packed(units, rows.targets(), 64, {}, 12);
    for (const auto& micro : plan) {
      const auto batch = forward.prepare(micro);
      const auto made = forward.make(*loaded->model, bind_model(*loaded), batch);
      std::vector<float> expected;
      for (auto place : batch.place_T) {
        expected.push_back(want[static_cast<size_t>(place)]);
      }
      const auto T = static_cast<int>(expected.size());
      CHECK(
          excess(made.at("logp"), mx::array(expected.begin(), {T}, mx::float32), 1e-4, 1e-4) <= 1);
      CHECK(batch.padded.ids_BL.shape(0) < static_cast<int>(micro.rows.size()));
    }
  }
  CHECK(run >= 2);
}

TEST_CASE(
    "packed micro-batches hold every row once, keep to the limit and leave long units alone") {
  const std::vector<int32_t> targets{5, 1, 30, 9, 0, 3, 7, 2};
  const std::vector<std::vector<int>> units{{0, 1}, {2}, {3}, {4}, {5, 6}, {7}};
  for (Buckets buckets : {Buckets{}, Buckets{8, 8}}) {
    for (int limit : {10, 40}) {
      std::vector<int> seen;
      for (const auto& batch : plan_packed(units, targets, limit, buckets, 10)) {
        seen.insert(seen.end(), batch.rows.begin(), batch.rows.end());
        if (batch.line.empty()) {
          CHECK(batch.rows == std::vector<int>{2});
          continue;
        }
        CHECK(std::is_sorted(batch.line.begin(), batch.line.end()));
        std::map<int, int> tokens;
        for (size_t k = 0; k < batch.rows.size(); k++) {
          tokens[batch.line[k]] += targets[static_cast<size_t>(batch.rows[k])];
        }
        for (const auto& [line, sum] : tokens) {
          CHECK(sum <= batch.length);
        }
        CHECK((tokens.size() == 1 || static_cast<int>(tokens.size()) * batch.length <= limit));
      }
      std::sort(seen.begin(), seen.end());
      CHECK(seen == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
    }
  }
}
