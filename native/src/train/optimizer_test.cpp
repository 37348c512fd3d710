#include "train/optimizer.h"

#include "core/error.h"
#include "io/safetensors.h"
#include "testing/fixtures.h"
#include "testing/temp_dir.h"
#include "train/lora_init.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <numeric>

using namespace atelier;
using namespace atelier::testing;

namespace {

Trainable small_adapter() {
  auto model = std::make_shared<LoadedModel>(load_model(fixture("models/qwen3_tied"), mx::float32));
  LoraConfig config;
  config.rank = 2;
  config.alpha = 4;
  config.target_modules = std::vector<std::string>{"q_proj"};
  auto adapter = std::make_shared<Adapter>(init_adapter(config, *model, 1));
  return Trainable::of_adapter(std::move(model), std::move(adapter));
}

std::vector<mx::array> gradients_of(const Optimizer& o, float value) {
  std::vector<mx::array> gradients;
  for (const auto& master : o.trainable().masters()) {
    gradients.push_back(mx::full(master.shape(), value));
  }
  return gradients;
}

std::vector<int> all_of(size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

TEST_CASE("states that are not finite are neither saved nor loaded") {
  const TempDir dir;
  const std::string file = dir.path("optimizer.safetensors");
  Optimizer o(small_adapter(), {});
  o.update(gradients_of(o, 0.1f), 1e-3, 1);
  o.save(file);
  Optimizer broken(small_adapter(), {});
  broken.update(gradients_of(broken, NAN), 1e-3, 1);
  const std::string never = dir.path("never.safetensors");
  try {
    broken.save(never);
    FAIL("it was saved");
  } catch (const Error& e) {
    CHECK(e.code == ErrorCode::non_finite);
  }
  CHECK(!std::filesystem::exists(never));

  auto tensors = load_safetensors(file, std::nullopt);
  auto& first = tensors.begin()->second;
  first = mx::full(first.shape(), INFINITY);
  save_safetensors(never, tensors, {{"optimizer", "adamw"}, {"updates", "1"}});
  CHECK_THROWS_AS(o.load(never), Error);
  o.load(file);
}

TEST_CASE(
    "joined, an adapter's parameters give the same forward, move the same and go through files") {
  auto model = std::make_shared<LoadedModel>(load_model(fixture("models/qwen3_moe"), mx::float32));
  LoraConfig config;
  config.rank = 3;
  config.alpha = 4;
  // Some of a product's modules, all of another's.
  config.target_modules = std::vector<std::string>{"q_proj", "v_proj", "o_proj"};
  config.target_parameters = {"mlp.experts.gate_up_proj", "mlp.experts.down_proj"};
  auto adapter = [&] {
    auto made = std::make_shared<Adapter>(init_adapter(config, *model, 1));
    for (auto& [name, array] : made->params) {
      array =
          mx::random::normal(array.shape(), mx::float32, 0, 0.1f, mx::random::key(array.size()));
    }
    return made;
  };
  auto apart_adapter = adapter(), joined_adapter = adapter();
  auto joined = Trainable::of_adapter(model, joined_adapter);
  joined.join();
  REQUIRE(joined.masters().size() == 1);
  Optimizer a(Trainable::of_adapter(model, apart_adapter), {}), b(joined, {});

  auto same_forward = [&] {
    const auto bound = b.trainable().bind(b.trainable().arguments());
    const auto expected = bind_adapter(*model, *apart_adapter, apart_adapter->params);
    REQUIRE(bound.lora.size() == expected.lora.size());
    for (const auto& [name, array] : expected.lora) {
      CAPTURE(name);
      CHECK(mx::array_equal(bound.lora.at(name), array).item<bool>());
    }
  };
  same_forward();

  // A gradient by what the forward takes is one by the parameters.
  auto gradient = [](const Optimizer& optimizer) {
    const Trainable& of = optimizer.trainable();
    auto loss = [&](const std::vector<mx::array>& by) {
      mx::array sum(0.0f);
      for (const auto& [name, array] : of.bind(by).lora) {
        sum = sum + mx::sum(mx::sin(array));
      }
      return std::vector<mx::array>{sum};
    };
    const auto all = all_of(of.arguments().size());
    return of.by_master(of.summands(mx::value_and_grad(loss, all)(of.arguments()).second));
  };
  for (int step = 0; step < 3; step++) {
    a.update(gradient(a), 1e-2, 0.5);
    b.update(gradient(b), 1e-2, 0.5);
  }
  for (const auto& [name, array] : apart_adapter->params) {
    CAPTURE(name);
    CHECK(excess(joined_adapter->params.at(name), array, 1e-6, 1e-6) <= 1);
  }

  const TempDir dir;
  const std::string of_a = dir.path("a.safetensors"), of_b = dir.path("b.safetensors");
  a.save(of_a);
  b.save(of_b);
  const auto left = load_safetensors(of_a, std::nullopt);
  for (const auto& [name, array] : load_safetensors(of_b, std::nullopt)) {
    CAPTURE(name);
    CHECK(excess(array, left.at(name), 1e-6, 1e-6) <= 1);
  }
  b.load(of_a);
  b.save(of_b);
  CHECK(load_safetensors(of_b, std::nullopt).size() == left.size());
}

TEST_CASE("files of version 0.1, whose metadata names AdamW's steps, are read") {
  const TempDir dir;
  const std::string file = dir.path("optimizer.safetensors");
  Optimizer o(small_adapter(), {});
  o.update(gradients_of(o, 0.1f), 1e-3, 1);
  o.save(file);
  save_safetensors(file, load_safetensors(file, std::nullopt), {{"adamw_steps", "1"}});
  Optimizer again(small_adapter(), {});
  again.load(file);
  save_safetensors(file, load_safetensors(file, std::nullopt), {{"adamw_steps", "many"}});
  CHECK_THROWS_AS(again.load(file), Error);
}

TEST_CASE(
    "half precision weights have f32 masters: updates below their spacing add up, and go through "
    "files") {
  auto load = [] {
    return std::make_shared<LoadedModel>(load_model(fixture("models/qwen3_tied"), mx::bfloat16));
  };
  auto model = load();
  const auto name = std::string("model.layers.0.mlp.down_proj.weight");
  const auto before = mx::astype(model->weights.at(name), mx::float32);
  Optimizer o(Trainable::of_model(model), {});
  auto master = [&](const Optimizer& of) {
    for (size_t i = 0; i < of.trainable().parameters().size(); i++) {
      if (of.trainable().parameters()[i].name == name) {
        return of.trainable().masters()[i];
      }
    }
    throw std::runtime_error("no such parameter");
  };
  for (int k = 0; k < 100; k++) {
    o.update(gradients_of(o, 0.5f), 1e-6, 1);
  }
  // A hundred roundings of f32; bf16 would lose every update.
  CHECK(excess(master(o), before - mx::array(1e-4f), 3e-6, 0) <= 1);
  const auto& now = model->weights.at(name);
  CHECK(now.dtype() == mx::bfloat16);
  CHECK(mx::array_equal(now, mx::astype(master(o), mx::bfloat16)).item<bool>());
  CHECK(!mx::array_equal(mx::astype(now, mx::float32), before).item<bool>());

  const TempDir dir;
  const std::string file = dir.path("optimizer.safetensors");
  o.save(file);
  auto again = load();
  Optimizer loaded(Trainable::of_model(again), {});
  loaded.load(file);
  for (auto* each : {&o, &loaded}) {
    each->update(gradients_of(*each, -0.3f), 1e-6, 1);
  }
  CHECK(mx::array_equal(master(loaded), master(o)).item<bool>());
  CHECK(mx::array_equal(again->weights.at(name), model->weights.at(name)).item<bool>());
}

TEST_CASE("gradients by stacked weights are those by the tensors of the files") {
  auto model = std::make_shared<LoadedModel>(load_model(fixture("models/qwen3_tied"), mx::float32));
  const auto trainable = Trainable::of_model(model);
  std::vector<mx::array> stacked;
  for (const auto& argument : trainable.arguments()) {
    const auto size = static_cast<int>(argument.size());
    stacked.push_back(mx::reshape(mx::arange(0, size, mx::float32), argument.shape()));
  }
  const auto apart = trainable.by_master(stacked);
  REQUIRE(apart.size() == trainable.parameters().size());
  Params named;
  for (size_t i = 0; i < apart.size(); i++) {
    CHECK(apart[i].shape() == trainable.masters()[i].shape());
    named.emplace(trainable.parameters()[i].name, apart[i]);
  }
  size_t i = 0;
  for (const auto& [name, array] : model->model->stack(named)) {
    CHECK(mx::array_equal(array, stacked[i++]).item<bool>());
  }
}
