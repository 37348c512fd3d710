#pragma once

#include "engine/device.h"
#include "engine/table.h"
#include "infer/generate.h"
#include "io/peft.h"
#include "models/load.h"
#include "train/optimizer.h"
#include "train/score.h"
#include "train/step.h"

#include <atomic>
#include <optional>

namespace atelier {

int64_t parameter_count(const Params& params);

struct EngineOptions {
  std::string device;
  std::optional<uint64_t> memory_limit_bytes;
  std::optional<uint64_t> cache_limit_bytes;
  bool plain_ops = false;
  std::string kernel_folder = {};
  /** One of several that make steps together: what they meet through, "nccl" or "ring". Empty: alone. */
  std::string ranks = {};
};

struct EngineStats {
  std::string device;
  uint64_t active_bytes = 0, peak_bytes = 0, cache_bytes = 0, memory_limit_bytes = 0;
  size_t models = 0, adapters = 0;
};

/** Of native/face.ts. */
struct ModelFacts {
  ModelConfig config;
  int64_t parameters = 0;
  bool mixture = false;
  bool softmax_routers = false;
  bool packs = true;
  std::optional<Error> gguf_refusal = std::nullopt;
  std::optional<Quantisation> quantisation = std::nullopt;
  /** Checkpoint::left_out. */
  std::vector<std::string> left_out = {};
};

ModelFacts facts_of(const Model& model);

struct ModelInfo : ModelFacts {
  int id = 0;
  uint64_t weight_bytes = 0;
  std::string dtype;
  std::vector<std::string> linear_modules;
};

struct AdapterInfo {
  int id = 0;
  int model = 0;
  int64_t parameters = 0;
  LoraSites sites;
  bool scalar_head = false;
  /** Modules that are saved whole. */
  std::vector<std::string> saved;
};

struct AdapterNorm {
  std::string name;
  float max_a = 0, max_b = 0;
};

struct Generated {
  std::vector<GeneratedRow> rows;
  double seconds = 0;
  int64_t tokens = 0;
  /** Held for as long as it took, however many rows there were. */
  uint64_t held_bytes = 0;
};

struct Scored {
  Scores scores;
  double seconds = 0;
};

struct Stepped {
  StepResult result;
  double seconds = 0;
  uint64_t peak_bytes = 0;
};

struct ProgramRequest {
  std::string program;
  Numbers inputs;
  /** [N] */
  std::vector<int32_t> targets;
  std::vector<int32_t> trajectories, groups;
  std::vector<std::string> gradients;
};

struct ProgramValue {
  double loss = 0;
  std::map<std::string, double> metrics;
  Numbers gradients;
};

/**
 * The state behind the door: models, adapters and optimisers by number. After begin_thread() every function
 * but stats() is called on that one thread, and there it is freed. native/face.ts says what each does.
 */
class Engine {
 public:
  /** Throws device_unavailable, invalid_argument. */
  explicit Engine(const EngineOptions& options);
  /** On the engine's thread; waits for what is still being computed. */
  ~Engine();

  /** Makes the device the calling thread's. */
  void begin_thread();
  /** Waits for the other ranks to be there; before the first step. */
  void join_ranks();

  /** From any thread. */
  EngineStats stats() const;
  void clear_cache();
  void reset_peak();

  ModelInfo load_model(
      const std::string& path,
      const std::string& dtype,
      const std::optional<Quantise>& quantise);
  ModelInfo init_model(const std::string& config_json, uint64_t seed, const std::string& dtype);
  void save_model(int model, const std::string& dir, const std::string& dtype);
  void unload_model(int model);

  AdapterInfo create_adapter(int model, const LoraConfig& config, uint64_t seed);
  AdapterInfo load_adapter(int model, const std::string& dir);
  void save_adapter(int adapter, const std::string& file);
  std::vector<AdapterNorm> adapter_norms(int adapter);
  void unload_adapter(int adapter);

  Generated generate(
      int model,
      std::optional<int> adapter,
      GenerateRequest request,
      const OnProgress& on_progress,
      const std::atomic<bool>& cancelled);
  Scored score(
      int model,
      std::optional<int> adapter,
      const Rows& rows,
      const ScoreOptions& options,
      const std::atomic<bool>& cancelled);
  /** f32, row after row: [sum(lengths), V], or [N, V] where only the last position is asked for. */
  std::vector<float>
  logits(int model, std::optional<int> adapter, const Rows& rows, bool last_only);

  int create_optimizer(
      std::optional<int> adapter,
      std::optional<int> model,
      const OptimizerSpec& spec);
  void save_optimizer(int optimizer, const std::string& file);
  void load_optimizer(int optimizer, const std::string& file);
  void free_optimizer(int optimizer);
  /** `teacher`: whom the program's divergences are taken from, its id and its adapter's. */
  Stepped step(
      int optimizer,
      const StepRequest& request,
      const std::optional<std::pair<int, std::optional<int>>>& teacher,
      const std::atomic<bool>& cancelled);
  ProgramValue evaluate_program(const ProgramRequest& request);

 private:
  struct LiveAdapter {
    int model_id;
    std::shared_ptr<LoadedModel> model;
    std::shared_ptr<Adapter> adapter;
  };

  ModelInfo take_model(LoadedModel model);
  AdapterInfo take_adapter(int model, Adapter adapter);
  /** Weights and the stacked adapter for a forward without gradient. */
  Bound bind(int model, std::optional<int> adapter) const;
  /** Bytes of the memory limit that are not in use. */
  uint64_t room() const;
  /** Throws out_of_memory where `wanted` bytes are more than there is room for; `instead` completes the hint. */
  void check_room(uint64_t wanted, const std::string& what, const std::string& instead) const;

  DeviceInfo device_;
  bool plain_ops_ = false;
  std::string meets_through_;
  Ranks ranks_;
  uint64_t memory_limit_ = 0;
  std::atomic<uint64_t> peak_before_ = 0;
  std::atomic<size_t> model_count_ = 0, adapter_count_ = 0;
  Table<LoadedModel> models_{"model"};
  Table<LiveAdapter> adapters_{"adapter"};
  Table<Optimizer> optimizers_{"optimizer"};
};

}  // namespace atelier
