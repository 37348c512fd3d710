#include "engine/engine.h"

#include "kernels/gpu/compile.h"
#include "kernels/primitive.h"
#include "models/gguf_form.h"
#include "models/registry.h"
#include "train/lora_init.h"

#include <algorithm>

namespace atelier {
namespace {

std::string dtype_name(mx::Dtype dtype) {
  return dtype == mx::float32 ? "f32" : dtype == mx::bfloat16 ? "bf16" : "f16";
}

mx::Dtype storage_dtype(const std::string& name) {
  if (name == "f32") {
    return mx::float32;
  }
  if (name == "bf16") {
    return mx::bfloat16;
  }
  if (name == "f16") {
    return mx::float16;
  }
  throw Error(ErrorCode::invalid_argument, "dtype is '" + name + "'; it is one of f32, bf16, f16");
}

// Half precision on the CPU is scalar code: slower and less exact than f32, so it is not offered.
mx::Dtype compute_dtype(const std::string& name, const DeviceInfo& device) {
  if (name.empty()) {
    return device.device == "cpu" ? mx::float32 : mx::bfloat16;
  }
  auto dtype = storage_dtype(name);
  if (device.device == "cpu" && dtype != mx::float32) {
    throw Error(
        ErrorCode::invalid_argument,
        "dtype is '" + name + "'; on the CPU the engine computes in f32 only");
  }
  return dtype;
}

uint64_t bytes(const Params& params) {
  uint64_t total = 0;
  for (const auto& [name, array] : params) {
    total += array.nbytes();
  }
  return total;
}

// Steps of other shapes leave their buffers in the cache. A GPU's memory is the engine's own and slow to get;
// the CPU's belongs to everything that runs on the machine.
uint64_t default_cache(const DeviceInfo& device, uint64_t memory_limit) {
  uint64_t quarter = memory_limit / 4;
  return device.device == "cpu" ? std::min(quarter, uint64_t{1} << 29) : quarter;
}

float max_abs(const mx::array& a) {
  return a.size() == 0 ? 0.0f : mx::max(mx::abs(a)).item<float>();
}

}  // namespace

int64_t parameter_count(const Params& params) {
  int64_t total = 0;
  for (const auto& [name, array] : params) {
    total += static_cast<int64_t>(array.size());
  }
  return total;
}

Engine::Engine(const EngineOptions& options)
    : device_(find_device(options.device)),
      plain_ops_(options.plain_ops),
      meets_through_(options.ranks) {
  uint64_t memory = device_.memory_bytes ? device_.memory_bytes : mx::get_memory_limit();
  memory_limit_ = options.memory_limit_bytes.value_or(memory / 4 * 3);
  mx::set_memory_limit(memory_limit_);
  mx::set_cache_limit(options.cache_limit_bytes.value_or(default_cache(device_, memory_limit_)));
  if (!options.kernel_folder.empty()) {
    keep_gpu_kernels(options.kernel_folder);
  }
}

// A cancelled generation leaves evaluations under way: their streams end with this thread, and what they
// use with the process.
Engine::~Engine() {
  try {
    mx::synchronize();
  } catch (const std::exception&) {
    // An evaluation that failed has nothing more to wait for.
  }
}

void Engine::begin_thread() {
  use_device(device_);
  use_kernels(!plain_ops_);
}

void Engine::join_ranks() {
  ranks_ = Ranks(meets_through_);
}

EngineStats Engine::stats() const {
  EngineStats s;
  s.device = device_.device;
  s.active_bytes = mx::get_active_memory();
  s.peak_bytes = std::max<uint64_t>(peak_before_, mx::get_peak_memory());
  s.cache_bytes = mx::get_cache_memory();
  s.memory_limit_bytes = memory_limit_;
  s.models = model_count_;
  s.adapters = adapter_count_;
  return s;
}

void Engine::clear_cache() {
  // What is under way holds its buffers until it is done.
  mx::synchronize();
  mx::clear_cache();
}

void Engine::reset_peak() {
  peak_before_ = 0;
  mx::reset_peak_memory();
}

uint64_t Engine::room() const {
  const uint64_t used = mx::get_active_memory();
  return used < memory_limit_ ? memory_limit_ - used : 0;
}

void Engine::check_room(uint64_t wanted, const std::string& what, const std::string& instead)
    const {
  if (wanted > room()) {
    auto mib = [](uint64_t bytes) {
      return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
    };
    throw Error(
        ErrorCode::out_of_memory,
        what + " needs " + mib(wanted) + " beside the " + mib(mx::get_active_memory()) +
            " in use; the limit is " + mib(memory_limit_),
        instead + ", unload a model, or raise the memory limit.");
  }
}

ModelFacts facts_of(const Model& model) {
  return {
      model.config(),
      model.parameters(),
      model.mixture(),
      model.chosen_experts() > 0,
      model.masks_separate(),
      gguf_refusal(model.config())};
}

ModelInfo Engine::take_model(LoadedModel loaded) {
  std::vector<mx::array> arrays;
  for (const auto& [name, array] : loaded.weights) {
    arrays.push_back(array);
  }
  mx::eval(arrays);
  auto model = std::make_shared<LoadedModel>(std::move(loaded));
  ModelInfo info;
  static_cast<ModelFacts&>(info) = facts_of(*model->model);
  info.weight_bytes = bytes(model->weights);
  info.dtype = dtype_name(model->dtype);
  for (const auto& module : model->model->linears()) {
    info.linear_modules.push_back(module.name);
  }
  info.id = models_.add(std::move(model));
  model_count_ = models_.size();
  return info;
}

ModelInfo Engine::load_model(
    const std::string& path,
    const std::string& dtype,
    const std::optional<Quantise>& quantise) {
  const mx::Dtype type = compute_dtype(dtype, device_);
  const auto checkpoint = open_checkpoint(path);
  const Forms forms = forms_of(*checkpoint, quantise);
  check_room(loaded_bytes(*checkpoint, forms, type), "The model", "Choose a smaller one");
  ModelInfo info = take_model(atelier::load_model(*checkpoint, forms, type));
  info.quantisation = commonest(forms);
  info.left_out = checkpoint->left_out();
  return info;
}

ModelInfo
Engine::init_model(const std::string& config_json, uint64_t seed, const std::string& dtype) {
  const mx::Dtype type = compute_dtype(dtype, device_);
  check_room(
      make_model(config_json, "config")->parameters() * uint64_t{type.size()},
      "The model",
      "Choose a smaller one");
  return take_model(atelier::init_model(config_json, seed, type));
}

void Engine::save_model(int model, const std::string& dir, const std::string& dtype) {
  auto loaded = models_.get(model);
  atelier::save_model(*loaded, dir, dtype.empty() ? loaded->dtype : storage_dtype(dtype));
}

void Engine::unload_model(int model) {
  models_.remove(model);
  model_count_ = models_.size();
  mx::clear_cache();
}

AdapterInfo Engine::take_adapter(int model, Adapter adapter) {
  auto live = std::make_shared<LiveAdapter>(
      LiveAdapter{model, models_.get(model), std::make_shared<Adapter>(std::move(adapter))});
  AdapterInfo info;
  info.model = model;
  info.parameters = parameter_count(live->adapter->params);
  info.sites = live->adapter->sites;
  info.scalar_head = live->adapter->params.count(scalar_head_name) > 0;
  info.saved = live->adapter->saved;
  info.id = adapters_.add(std::move(live));
  adapter_count_ = adapters_.size();
  return info;
}

AdapterInfo Engine::create_adapter(int model, const LoraConfig& config, uint64_t seed) {
  const auto loaded = models_.get(model);
  auto adapter = init_adapter(config, *loaded, seed);
  if (config.scalar_head) {
    auto own = bind_model(*loaded).scalar_head;
    auto head = own.value_or(mx::zeros({1, loaded->model->config().hidden}, mx::float32));
    mx::eval(head);
    adapter.params.emplace(scalar_head_name, head);
  }
  return take_adapter(model, std::move(adapter));
}

AdapterInfo Engine::load_adapter(int model, const std::string& dir) {
  const auto& m = *models_.get(model)->model;
  auto adapter =
      atelier::load_adapter(dir, m.linears(), {m.config().vocabulary, m.config().hidden});
  auto head = adapter.params.find(scalar_head_name);
  if (head != adapter.params.end() && head->second.shape(-1) != m.config().hidden) {
    throw Error(
        ErrorCode::invalid_file,
        dir + ": its scalar head has " + std::to_string(head->second.shape(-1)) +
            " inputs; the model's hidden states have " + std::to_string(m.config().hidden));
  }
  return take_adapter(model, std::move(adapter));
}

void Engine::save_adapter(int adapter, const std::string& file) {
  auto live = adapters_.get(adapter);
  atelier::save_adapter(live->adapter->params, live->model->model->linears(), file);
}

std::vector<AdapterNorm> Engine::adapter_norms(int adapter) {
  auto live = adapters_.get(adapter);
  std::vector<AdapterNorm> norms;
  for (const auto& [name, site] : live->adapter->sites) {
    const auto& params = live->adapter->params;
    norms.push_back({name, max_abs(params.at(lora_a(name))), max_abs(params.at(lora_b(name)))});
  }
  const auto& params = live->adapter->params;
  if (auto head = params.find(scalar_head_name); head != params.end()) {
    const float largest = max_abs(head->second);
    norms.push_back({"score", largest, largest});
  }
  return norms;
}

void Engine::unload_adapter(int adapter) {
  adapters_.remove(adapter);
  adapter_count_ = adapters_.size();
}

}  // namespace atelier
