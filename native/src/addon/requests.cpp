#include "addon/requests.h"

#include <limits>

namespace atelier {
namespace {

constexpr double no_limit = std::numeric_limits<double>::max();
constexpr int64_t any_int = std::numeric_limits<int32_t>::max();

std::vector<int32_t> int32s_or_none(const Fields& fields, const char* key) {
  return fields.has(key) ? fields.int32s(key) : std::vector<int32_t>();
}

float temperature_above_zero(const Fields& fields) {
  return fields.has("temperature") ? static_cast<float>(fields.number("temperature", 1e-3, 1e3))
                                   : 1.0f;
}

int micro_tokens(const Fields& fields, int otherwise) {
  return fields.has("microTokens") ? static_cast<int>(fields.integer("microTokens", 1, any_int))
                                   : otherwise;
}

}  // namespace

int read_id(const Fields& request, const char* key) {
  return static_cast<int>(request.integer(key, 1, any_int));
}

std::optional<int> read_adapter(const Fields& request) {
  return request.has("adapter") ? std::optional<int>(read_id(request, "adapter")) : std::nullopt;
}

std::optional<Quantise> read_quantise(const Fields& request) {
  if (!request.has("quantize")) {
    return std::nullopt;
  }
  const Fields fields = request.object("quantize");
  Quantise out{static_cast<int>(fields.integer("bits", 1, 32)), std::nullopt};
  if (fields.has("groupSize")) {
    out.group = static_cast<int>(fields.integer("groupSize", 1, 1 << 20));
  }
  return out;
}

EngineOptions read_engine_options(const Fields& options) {
  EngineOptions result{options.text("device"), {}, {}, options.flag("plainOps", false), {}};
  int64_t most = int64_t{1} << 50;
  if (options.has("memoryLimitBytes")) {
    result.memory_limit_bytes = options.integer("memoryLimitBytes", 1 << 20, most);
  }
  if (options.has("cacheLimitBytes")) {
    result.cache_limit_bytes = options.integer("cacheLimitBytes", 0, most);
  }
  if (options.has("kernelFolder")) {
    result.kernel_folder = options.text("kernelFolder");
  }
  result.ranks = options.text_or_empty("ranks");
  return result;
}

LoraConfig read_lora(const Fields& spec) {
  LoraConfig config;
  config.patterns_must_match = true;
  config.rank = static_cast<int>(spec.integer("rank", 1, 65536));
  config.alpha = spec.number("alpha", 0, no_limit);
  if (spec.get("targetModules").IsString()) {
    config.target_modules = spec.text("targetModules");
  } else {
    config.target_modules = spec.texts("targetModules");
  }
  config.rslora = spec.flag("rslora", false);
  config.scalar_head = spec.flag("scalarHead", false);
  config.dora = spec.flag("dora", false);
  if (spec.has("modulesToSave")) {
    config.modules_to_save = spec.texts("modulesToSave");
  }
  if (spec.has("rankPattern")) {
    auto pattern = spec.object("rankPattern");
    for (const auto& [key, value] : spec.numbers("rankPattern")) {
      config.rank_pattern.emplace_back(
          key, static_cast<int>(pattern.integer(key.c_str(), 1, 65536)));
    }
  }
  if (spec.has("alphaPattern")) {
    config.alpha_pattern = spec.numbers("alphaPattern");
  }
  if (spec.has("layersToTransform")) {
    config.layers_to_transform = spec.list_of_integers("layersToTransform");
  }
  return config;
}

OptimizerSpec read_optimizer_spec(const Fields& spec) {
  using Kind = OptimizerSpec::Kind;
  OptimizerSpec result;
  const auto kind = spec.text("kind");
  for (auto known :
       {Kind::adamw, Kind::adamw_8bit, Kind::adam, Kind::adafactor, Kind::muon, Kind::sgd}) {
    if (kind == kind_name(known)) {
      result.kind = known;
    }
  }
  if (kind != kind_name(result.kind)) {
    throw Error(
        ErrorCode::invalid_argument,
        spec.path("kind") + " is '" + kind +
            "'; it is one of adamw, adamw-8bit, adam, adafactor, muon, sgd");
  }
  result.weight_decay = spec.number("weightDecay", 0, no_limit);
  result.decay_all = spec.flag("decayAll", false);
  if (result.kind == Kind::adafactor) {
    result.relative = spec.flag("relative", true);
    return result;
  }
  if (result.kind == Kind::sgd) {
    result.momentum = spec.number("momentum", 0, 1);
    return result;
  }
  result.adamw.beta1 = spec.number("beta1", 0, 1);
  result.adamw.beta2 = spec.number("beta2", 0, 1);
  if (result.adamw.beta1 == 1 || result.adamw.beta2 == 1) {
    throw Error(ErrorCode::invalid_argument, spec.path("beta1") + " and beta2 must be below 1");
  }
  result.adamw.epsilon = spec.number("epsilon", 0, 1);
  if (result.kind == Kind::muon) {
    result.momentum = spec.number("momentum", 0, 1);
    result.match_adamw = spec.flag("matchAdamW", true);
  }
  return result;
}

Rows read_rows(const Fields& request) {
  auto rows = request.object("rows");
  return {rows.int32s("ids"), rows.int32s("lengths")};
}

namespace {

// Token ids are the names of `logitBias`.
int32_t token_of(const Fields& request, const std::string& name) {
  if (name.empty() || name.size() > 9 ||
      name.find_first_not_of("0123456789") != std::string::npos) {
    throw Error(
        ErrorCode::invalid_argument,
        request.path("logitBias") + ": '" + name + "' is not a token id");
  }
  return std::stoi(name);
}

Sampling read_sampling(const Fields& request) {
  auto number = [&](const char* key, double min, double max, float otherwise) {
    return request.has(key) ? static_cast<float>(request.number(key, min, max)) : otherwise;
  };
  auto whole = [&](const char* key) {
    return request.has(key) ? static_cast<int>(request.integer(key, 0, any_int)) : 0;
  };
  Sampling s;
  s.temperature = static_cast<float>(request.number("temperature", 0, 1e3));
  s.top_k = whole("topK");
  s.top_p = number("topP", 0, 1, 1);
  s.min_p = number("minP", 0, 1, 0);
  s.typical_p = number("typicalP", 0, 1, 1);
  s.epsilon = number("epsilonCutoff", 0, 1, 0);
  s.penalties.repetition = number("repetitionPenalty", 0, 1e3, 1);
  s.penalties.frequency = number("frequencyPenalty", -1e3, 1e3, 0);
  s.penalties.presence = number("presencePenalty", -1e3, 1e3, 0);
  s.penalties.no_repeat_ngram = whole("noRepeatNgram");
  s.penalties.min_new_tokens = whole("minNewTokens");
  if (request.has("logitBias")) {
    for (const auto& [name, value] : request.numbers("logitBias")) {
      s.bias[token_of(request, name)] = static_cast<float>(value);
    }
  }
  if (request.has("suppressIds")) {
    for (int32_t id : request.int32s("suppressIds")) {
      s.bias[id] = -INFINITY;
    }
  }
  return s;
}

}  // namespace

GenerateRequest read_generate(const Fields& request) {
  GenerateRequest result;
  result.prompts = request.list_of_int32s("prompts");
  result.samples_per_prompt = static_cast<int>(request.integer("samplesPerPrompt", 1, 1 << 20));
  result.max_new_tokens = static_cast<int>(request.integer("maxNewTokens", 1, any_int));
  result.sampling = read_sampling(request);
  result.stop_ids = request.int32s("stopIds");
  result.seed = request.seed("seed");
  size_t rows = result.prompts.size() * static_cast<size_t>(result.samples_per_prompt);
  if (request.has("rolloutIds")) {
    result.rollout_ids = request.uint32s("rolloutIds");
    if (result.rollout_ids.size() != rows) {
      throw Error(
          ErrorCode::invalid_argument,
          request.path("rolloutIds") + " has " + std::to_string(result.rollout_ids.size()) +
              " entries for " + std::to_string(rows) + " rows");
    }
  }
  if (request.has("maxRows")) {
    result.max_rows = static_cast<int>(request.integer("maxRows", 1, any_int));
  }
  return result;
}

ScoreOptions read_score(const Fields& request) {
  ScoreOptions options;
  options.temperature = temperature_above_zero(request);
  options.wanted.clear();
  for (const char* name : {"logp", "entropy", "value", "score"}) {
    if (request.flag(name, std::string(name) == "logp")) {
      options.wanted.push_back({name});
    }
  }
  options.micro_tokens = micro_tokens(request, options.micro_tokens);
  return options;
}

StepRequest read_step(const Fields& request) {
  StepRequest result;
  result.rows = read_rows(request);
  result.trajectories = int32s_or_none(request, "trajectories");
  result.groups = int32s_or_none(request, "groups");
  if (request.has("skip")) {
    result.skip = request.bytes("skip");
  }
  result.program = request.text("program");
  result.inputs = request.named_floats("inputs");
  result.temperature = temperature_above_zero(request);
  result.learning_rate = request.number("learningRate", 0, 1e3);
  if (request.has("maxGradNorm")) {
    result.max_grad_norm = request.number("maxGradNorm", 0, no_limit);
  }
  result.micro_tokens = micro_tokens(request, result.micro_tokens);
  if (request.has("packTokens")) {
    result.pack_tokens = static_cast<int>(request.integer("packTokens", 1, any_int));
  }
  result.recompute = request.flag("recompute", false);
  if (request.has("embeddingNoise")) {
    auto noise = request.object("embeddingNoise");
    result.noise = EmbeddingNoise{noise.number("alpha", 0, 1e3), noise.seed("seed")};
  }
  return result;
}

ProgramRequest read_program(const Fields& request) {
  ProgramRequest result;
  result.program = request.text("program");
  result.inputs = request.named_floats("inputs");
  result.targets = request.int32s("targets");
  for (size_t i = 0; i < result.targets.size(); i++) {
    if (result.targets[i] < 0) {
      throw Error(
          ErrorCode::invalid_argument,
          request.path("targets") + "[" + std::to_string(i) + "] is negative");
    }
  }
  result.trajectories = int32s_or_none(request, "trajectories");
  result.groups = int32s_or_none(request, "groups");
  result.gradients = request.texts("gradients");
  return result;
}

}  // namespace atelier
