// What the engine computes with its models: generation, scores, logits, training.
#include <algorithm>
#include <chrono>

#include "engine/engine.h"
#include "infer/batch.h"
#include "infer/row_memory.h"
#include "nn/lora.h"

namespace atelier {
namespace {

// Of each parameter beside the weights themselves: the gradient, a master where the weights are not f32, and what
// the optimiser remembers.
uint64_t full_training_bytes(const OptimizerSpec& spec, mx::Dtype dtype) {
  using Kind = OptimizerSpec::Kind;
  const uint64_t states = spec.kind == Kind::adamw        ? 8
                          : spec.kind == Kind::adam       ? 8
                          : spec.kind == Kind::adamw_8bit ? 2
                          : spec.kind == Kind::muon       ? 4
                          : spec.kind == Kind::sgd        ? (spec.momentum == 0 ? 0 : 4)
                                                          : 0;
  return sizeof(float) + (dtype == mx::float32 ? 0 : sizeof(float)) + states;
}

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::vector<float> to_vector(const mx::array& a) {
  auto flat = mx::contiguous(mx::astype(a, mx::float32));
  flat.eval();
  return {flat.data<float>(), flat.data<float>() + flat.size()};
}

}  // namespace

Bound Engine::bind(int model, std::optional<int> adapter) const {
  auto loaded = models_.get(model);
  if (!adapter) {
    return bind_model(*loaded);
  }
  auto live = adapters_.get(*adapter);
  if (live->model_id != model) {
    throw Error(
        ErrorCode::invalid_argument,
        "adapter " + std::to_string(*adapter) + " belongs to model " +
            std::to_string(live->model_id) + ", not to model " + std::to_string(model));
  }
  return bind_adapter(*loaded, *live->adapter, live->adapter->params);
}

Generated Engine::generate(
    int model,
    std::optional<int> adapter,
    GenerateRequest request,
    const OnProgress& on_progress,
    const std::atomic<bool>& cancelled) {
  Clock clock;
  auto bound = bind(model, adapter);
  const auto& m = *models_.get(model)->model;
  int vocabulary = m.config().vocabulary, context = m.config().context, longest = 0;
  for (size_t p = 0; p < request.prompts.size(); p++) {
    const auto& prompt = request.prompts[p];
    std::string field = "prompts[" + std::to_string(p) + "]";
    Rows{prompt, {static_cast<int32_t>(prompt.size())}}.check(field.c_str(), vocabulary, context);
    if (static_cast<int64_t>(prompt.size()) + request.max_new_tokens > context) {
      throw Error(
          ErrorCode::invalid_argument,
          field + " has " + std::to_string(prompt.size()) + " tokens; with maxNewTokens " +
              std::to_string(request.max_new_tokens) + " it would pass the model's context of " +
              std::to_string(context));
    }
    longest = std::max(longest, static_cast<int>(prompt.size()) + request.max_new_tokens);
  }
  const uint64_t row = decode_row_bytes(m, longest, models_.get(model)->dtype);
  check_room(row, "A row of " + std::to_string(longest) + " tokens", "Ask for fewer new tokens");
  Generated result;
  const auto rows = static_cast<int>(std::min<uint64_t>(
      request.max_rows, request.prompts.size() * uint64_t(request.samples_per_prompt)));
  const bool recorded = records_steps(request.sampling) && m.row_numbers().recurrent == 0;
  const uint64_t joined = join_lora_bytes(bound.lora, bound.weights, rows, recorded);
  if (joined > 0 && rows * row + joined <= room()) {
    join_lora(bound.lora, bound.weights, rows, recorded);
    result.held_bytes = joined;
  }
  // What does not fit waits: draws depend on rollout id and position alone.
  request.max_rows = static_cast<int>(std::min<uint64_t>(request.max_rows, room() / row));
  result.rows = atelier::generate(m, bound.weights, bound.lora, request, on_progress, &cancelled);
  for (const auto& row : result.rows) {
    result.tokens += static_cast<int64_t>(row.ids.size());
  }
  result.seconds = clock.seconds();
  return result;
}

Scored Engine::score(
    int model,
    std::optional<int> adapter,
    const Rows& rows,
    const ScoreOptions& options,
    const std::atomic<bool>& cancelled) {
  Clock clock;
  auto bound = bind(model, adapter);
  const auto& m = *models_.get(model)->model;
  rows.check("rows", m.config().vocabulary, m.config().context);
  Scored result{atelier::score(m, bound, rows, options, std::nullopt, cancelled)};
  result.seconds = clock.seconds();
  return result;
}

std::vector<float>
Engine::logits(int model, std::optional<int> adapter, const Rows& rows, bool last_only) {
  auto bound = bind(model, adapter);
  const auto& m = *models_.get(model)->model;
  rows.check("rows", m.config().vocabulary, m.config().context);
  std::vector<float> result;
  auto from = rows.ids.begin();
  for (auto length : rows.lengths) {
    mx::array ids(from, {1, length}, mx::int32);
    auto hidden = m.hidden(bound.weights, bound.lora, ids);
    if (last_only) {
      hidden = mx::slice(hidden, {0, length - 1, 0}, hidden.shape());
    }
    auto values = to_vector(m.logits(bound.weights, hidden));
    result.insert(result.end(), values.begin(), values.end());
    from += length;
  }
  return result;
}

int Engine::create_optimizer(
    std::optional<int> adapter,
    std::optional<int> model,
    const OptimizerSpec& spec) {
  if (adapter) {
    auto live = adapters_.get(*adapter);
    return optimizers_.add(
        std::make_shared<Optimizer>(Trainable::of_adapter(live->model, live->adapter), spec));
  }
  auto loaded = models_.get(model.value());
  if (is_quantised(*loaded)) {
    throw Error(
        ErrorCode::invalid_argument,
        "All parameters of a quantised model cannot be trained: its numbers are too coarse to move",
        "Train an adapter on it (QLoRA), or load the model as floats.");
  }
  check_room(
      static_cast<uint64_t>(parameter_count(loaded->weights)) *
          full_training_bytes(spec, loaded->dtype),
      "Training all parameters",
      "Train an adapter");
  return optimizers_.add(std::make_shared<Optimizer>(Trainable::of_model(loaded), spec));
}

void Engine::save_optimizer(int optimizer, const std::string& file) {
  optimizers_.get(optimizer)->save(file);
}

void Engine::load_optimizer(int optimizer, const std::string& file) {
  optimizers_.get(optimizer)->load(file);
}

void Engine::free_optimizer(int optimizer) {
  optimizers_.remove(optimizer);
}

Stepped Engine::step(
    int optimizer,
    const StepRequest& request,
    const std::optional<std::pair<int, std::optional<int>>>& teacher,
    const std::atomic<bool>& cancelled) {
  auto o = optimizers_.get(optimizer);
  const auto& config = o->trainable().model().model->config();
  std::optional<Teacher> from;
  if (teacher) {
    from = Teacher{models_.get(teacher->first)->model, bind(teacher->first, teacher->second)};
    const int theirs = from->model->config().vocabulary;
    if (theirs != config.vocabulary) {
      throw Error(
          ErrorCode::invalid_argument,
          "teacher: its vocabulary has " + std::to_string(theirs) +
              " tokens, that of the trained model " + std::to_string(config.vocabulary),
          "Choose a teacher with the same tokenizer.");
    }
  }
  if (!request.rows.lengths.empty()) {
    request.rows.check("rows", config.vocabulary, config.context);
  }
  peak_before_ = std::max<uint64_t>(peak_before_, mx::get_peak_memory());
  mx::reset_peak_memory();
  Clock clock;
  Stepped stepped;
  const auto check = [this](uint64_t wanted, const std::string& what, const std::string& instead) {
    check_room(wanted, what, instead);
  };
  stepped.result = train_step(*o, request, from, cancelled, ranks_, check);
  stepped.seconds = clock.seconds();
  stepped.peak_bytes = mx::get_peak_memory();
  return stepped;
}

}  // namespace atelier
