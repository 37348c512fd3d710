#include "train/rules/rule.h"

#include "testing/fixtures.h"
#include "train/optimizer.h"
#include "train/rules/dynamic_map.h"

#include <doctest/doctest.h>

#include <functional>

using namespace atelier;
using namespace atelier::testing;

namespace {

mx::array numbers(const Json& json) {
  std::vector<float> flat;
  std::function<void(const Json&)> add = [&](const Json& j) {
    if (j.is_array()) {
      for (const auto& item : j) {
        add(item);
      }
    } else {
      flat.push_back(j.get<float>());
    }
  };
  add(json);
  return mx::array(flat.begin(), {static_cast<int>(flat.size())}, mx::float32);
}

mx::array matrix(const Json& json) {
  const auto rows = static_cast<int>(json.size());
  return mx::reshape(numbers(json), {rows, -1});
}

/** The matrix of optim/other_optimisers.json after each step of a case, against torch's. */
double largest_excess(const char* name, const RulePtr& rule, double atol) {
  const Json file = fixture_json("optim/other_optimisers.json");
  const Json& c = file["cases"][name];
  auto p = matrix(file["param"]);
  auto state = rule->start(p.shape());
  double worst = 0;
  int64_t step = 0;
  for (const Json& g : file["grads_per_step"]) {
    p = rule->move(p, matrix(g), state, {c["config"]["lr"], ++step});
    const Json& want = c["expected_params_per_step"][static_cast<size_t>(step - 1)];
    worst = std::max(worst, excess(p, matrix(want), atol, 0));
  }
  CHECK(step == 4);
  return worst;
}

}  // namespace

TEST_CASE("AdamW and Adam equal torch's, with clipping and schedules") {
  const Json file = fixture_json("optim/adamw.json");
  const std::vector<std::string> names{"w", "b", "norm"};
  int run = 0;
  for (const Json& c : file["cases"]) {
    const Json& config = c["config"];
    const auto kind = config.value("optimizer", "AdamW");
    if (kind == "SGD") {
      continue;  // below
    }
    const auto rule = kind == "Adam" ? adam_rule : adamw_rule;
    run++;
    CAPTURE(c["name"].get<std::string>());
    std::vector<mx::array> params;
    std::vector<RulePtr> rules;
    std::vector<Params> states;
    for (const auto& name : names) {
      params.push_back(numbers(file["params"][name]));
      const Json& decay = config["weight_decay"];
      rules.push_back(rule(
          {config["betas"][0], config["betas"][1], config["eps"]},
          decay.is_object() ? decay[name].get<double>() : decay.get<double>()));
      states.push_back(rules.back()->start(params.back().shape()));
    }
    for (size_t step = 0; step < c["expected_per_step"].size(); step++) {
      const Json& want = c["expected_per_step"][step];
      std::vector<mx::array> grads;
      for (const auto& name : names) {
        grads.push_back(numbers(file["grads_per_step"][step][name]));
      }
      double norm = global_norm(grads).item<float>();
      CHECK(norm == doctest::Approx(want["grad_norm_before_clip"].get<double>()).epsilon(1e-6));
      double scale =
          config.contains("max_grad_norm") ? clip_coefficient(norm, config["max_grad_norm"]) : 1.0;
      for (size_t i = 0; i < names.size(); i++) {
        auto g = grads[i] * mx::array(static_cast<float>(scale));
        const Pace pace{want["lr"], static_cast<int64_t>(step) + 1};
        params[i] = rules[i]->move(params[i], g, states[i], pace);
        CHECK(excess(params[i], numbers(want["params"][names[i]]), 1e-6, 0) <= 1);
      }
    }
  }
  CHECK(run == 8);
}

TEST_CASE("AdamW without memory moves by the rate") {
  auto rule = adamw_rule({0, 0, 1e-12}, 0);
  auto state = rule->start({1});
  CHECK(
      rule->move(mx::array({1.0f}), mx::array({0.25f}), state, {1e-3, 1}).item<float>() == 0.999f);
}

TEST_CASE("SGD with momentum equals torch's") {
  const Json file = fixture_json("optim/adamw.json");
  for (const Json& c : file["cases"]) {
    if (c["config"].value("optimizer", "") != "SGD") {
      continue;
    }
    for (const char* name : {"w", "b", "norm"}) {
      auto p = numbers(file["params"][name]);
      auto rule = sgd_rule(c["config"]["momentum"], c["config"]["weight_decay"]);
      auto state = rule->start(p.shape());
      for (size_t step = 0; step < c["expected_per_step"].size(); step++) {
        const Json& want = c["expected_per_step"][step];
        const auto g = numbers(file["grads_per_step"][step][name]);
        p = rule->move(p, g, state, {want["lr"], static_cast<int64_t>(step) + 1});
        CHECK(excess(p, numbers(want["params"][name]), 1e-6, 0) <= 1);
      }
    }
    return;
  }
  FAIL("the fixture has no SGD");
}

TEST_CASE("Adafactor equals torch's") {
  CHECK(largest_excess("adafactor", adafactor_rule(true, 0), 1e-6) <= 1);
}

// torch orthogonalises in bfloat16: fixtures/README.md.
TEST_CASE("Muon equals torch's") {
  CHECK(largest_excess("muon", muon_rule(0.95, false, 0.1), 2e-2) <= 1);
}

TEST_CASE("Muon's step on a matrix is nearly orthogonal, whichever side is longer") {
  for (const mx::Shape& shape : {mx::Shape{12, 5}, mx::Shape{5, 12}, mx::Shape{2, 6, 4}}) {
    auto g = mx::random::normal(shape, mx::float32, 0.0f, 1.0f, mx::random::key(3));
    auto rule = muon_rule(0.95, true, 0);
    auto state = rule->start(shape);
    const double scale = 0.2 * std::sqrt(std::max(shape[shape.size() - 2], shape.back()));
    auto x =
        -rule->move(mx::zeros(shape), g, state, {1.0, 1}) / mx::array(static_cast<float>(scale));
    if (x.shape(-2) > x.shape(-1)) {
      x = mx::swapaxes(x, -1, -2);
    }
    auto gram = mx::matmul(x, mx::swapaxes(x, -1, -2));
    // The iteration leaves singular values between 0.7 and 1.2.
    auto diagonal = mx::diagonal(gram, 0, -2, -1);
    CHECK(mx::min(diagonal).item<float>() > 0.4f);
    CHECK(mx::max(diagonal).item<float>() < 1.6f);
    // One rate suits both: the update has the RMS of AdamW's, about 0.2 to 0.4.
    auto rms = mx::sqrt(mx::mean(mx::square(x))).item<float>() * scale;
    CHECK(rms > 0.1);
    CHECK(rms < 0.4);
  }
}

TEST_CASE("Adafactor at a plain rate moves by it, and a matrix keeps rows and columns only") {
  auto rule = adafactor_rule(false, 0);
  auto state = rule->start({3, 4});
  CHECK(state.at("rows").size() + state.at("columns").size() == 7);
  // The first update of equal gradients has RMS 1.
  auto moved = rule->move(mx::zeros({3, 4}), mx::full({3, 4}, 0.5f), state, {1e-2, 1});
  CHECK(excess(moved, mx::full({3, 4}, -1e-2f), 1e-7, 0) <= 1);
}

TEST_CASE("the 8-bit map is bitsandbytes'") {
  const auto& both = dynamic_map(true);
  CHECK(both[0] == -0.99296875f);
  CHECK(both[127] == 0.0f);
  CHECK(both[255] == 1.0f);
  const auto& positive = dynamic_map(false);
  CHECK(positive[0] == 0.0f);
  CHECK(positive[254] == doctest::Approx(0.1 + 0.9 * 127.5 / 128));
  CHECK(positive[255] == 1.0f);
  CHECK(std::is_sorted(positive.begin(), positive.end()));
}

TEST_CASE("8 bits keep a block's numbers to the nearest value of the map") {
  for (bool is_signed : {true, false}) {
    auto x = mx::random::normal({700}, mx::float32, 0.0f, 1.0f, mx::random::key(4));
    x = is_signed ? x : mx::square(x);
    const auto blocks = to_blocks(x, is_signed);
    CHECK(blocks.codes.shape() == mx::Shape{3, 256});
    const auto back = from_blocks(blocks, is_signed, {700});
    mx::eval(x, back, blocks.scales);
    double worst = 0, nearest = 0;
    for (int i = 0; i < 700; i++) {
      const float scale = blocks.scales.data<float>()[i / 256];
      float least = INFINITY;
      for (float value : dynamic_map(is_signed)) {
        least = std::min(least, std::abs(value * scale - x.data<float>()[i]));
      }
      const double error = std::abs(back.data<float>()[i] - x.data<float>()[i]);
      worst = std::max(worst, error - least);
      nearest = std::max(nearest, error / scale);
    }
    CHECK(worst < 1e-6);
    CHECK(nearest < 0.01);
  }
  const auto nothing = from_blocks(to_blocks(mx::zeros({5}), true), true, {5});
  CHECK(mx::array_equal(nothing, mx::zeros({5})).item<bool>());
}

TEST_CASE("AdamW in 8 bits goes with AdamW") {
  const mx::Shape shape{64, 80};
  auto exact = adamw_rule({}, 0), small = adamw_8bit_rule({}, 0);
  auto p = mx::zeros(shape), q = p;
  auto sp = exact->start(shape), sq = small->start(shape);
  CHECK(sq.at("m.codes").dtype() == mx::uint8);
  CHECK(small->start({40}).count("m") == 1);
  for (int64_t step = 1; step <= 8; step++) {
    auto g =
        mx::array(0.5f) + mx::random::normal(shape, mx::float32, 0.0f, 1.0f, mx::random::key(step));
    p = exact->move(p, g, sp, {1e-2, step});
    q = small->move(q, g, sq, {1e-2, step});
    mx::eval(p, q);
  }
  // Eight steps of up to 0.01: what rounding of the states changes is a few per cent of them.
  CHECK(mx::mean(mx::abs(p - q)).item<float>() < 0.03f * mx::mean(mx::abs(p)).item<float>());
  CHECK(!mx::array_equal(p, q).item<bool>());
}
