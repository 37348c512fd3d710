#include "train/adamw.h"

#include "testing/fixtures.h"

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

}  // namespace

TEST_CASE("AdamW equals torch's, with clipping and schedules") {
  const Json file = fixture_json("optim/adamw.json");
  const std::vector<std::string> names{"w", "b", "norm"};
  int run = 0;
  for (const Json& c : file["cases"]) {
    const Json& config = c["config"];
    if (config.contains("optimizer")) {
      continue;  // SGD, Adam with L2: not offered
    }
    run++;
    CAPTURE(c["name"].get<std::string>());
    std::vector<mx::array> params;
    std::vector<AdamWSpec> specs;
    std::vector<AdamWState> states;
    for (const auto& name : names) {
      params.push_back(numbers(file["params"][name]));
      const Json& decay = config["weight_decay"];
      specs.push_back(
          {config["betas"][0],
           config["betas"][1],
           config["eps"],
           decay.is_object() ? decay[name].get<double>() : decay.get<double>()});
      states.push_back(adamw_state({params.back()}));
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
        params[i] =
            adamw_update(specs[i], {params[i]}, {grads[i]}, want["lr"], scale, states[i])[0];
        CHECK(excess(params[i], numbers(want["params"][names[i]]), 1e-6, 0) <= 1);
      }
    }
  }
  CHECK(run == 7);
}
