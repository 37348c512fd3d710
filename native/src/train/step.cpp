#include "train/step.h"

#include "core/error.h"
#include "kernels/gpu/reuse.h"
#include "train/score.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

// What the program's whole-step numbers need from the policy as it is, without gradient.
Numbers made_for_prepass(
    const Trainable& trainable,
    const Objective& objective,
    const StepRequest& request,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled) {
  ScoreOptions options{request.temperature, objective.prepass_wanted(), request.micro_tokens};
  if (options.wanted.empty()) {
    return {};
  }
  auto made = score(
      *trainable.model().model,
      trainable.bind(trainable.arguments()),
      request.rows,
      options,
      teacher,
      cancelled);
  if (auto by_row = made.find("score"); by_row != made.end()) {
    by_row->second = objective.of_last_rows(by_row->second);
  }
  return made;
}

std::vector<MicroBatch>
plan(const Model& model, const Objective& objective, const StepRequest& request) {
  const auto units = objective.units();
  const auto targets = request.rows.targets();
  const auto buckets = training_buckets();
  const int line = std::min({request.pack_tokens, request.micro_tokens, model.config().context});
  const auto wanted = objective.wanted();
  // These read one token further on than a line has room for.
  const bool ends = std::any_of(wanted.begin(), wanted.end(), [](const Wanted& w) {
    return w.name == "score" || w.name == "routerAux";
  });
  return line > 0 && model.masks_separate() && !ends
             ? plan_packed(units, targets, request.micro_tokens, buckets, line)
             : plan_batches(units, targets, request.micro_tokens, buckets);
}

std::vector<int> all_arguments(size_t count) {
  std::vector<int> arguments(count);
  for (size_t i = 0; i < count; i++) {
    arguments[i] = static_cast<int>(i);
  }
  return arguments;
}

std::vector<mx::array> zeros_like(const std::vector<mx::array>& arrays) {
  std::vector<mx::array> zeros;
  for (const auto& a : arrays) {
    zeros.push_back(mx::zeros_like(a));
  }
  return zeros;
}

}  // namespace

Gradients gradients(
    const Trainable& trainable,
    Objective& objective,
    const StepRequest& request,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled) {
  const auto& masters = trainable.masters();
  if (request.rows.lengths.empty()) {
    return {0, {}, zeros_like(masters), 0};
  }
  Forward forward(
      request.rows,
      {objective.wanted(),
       request.temperature,
       trainable.trains_head(),
       {request.recompute, request.noise},
       trainable.model().model->config().pad_token},
      teacher);
  objective.prepass(made_for_prepass(trainable, objective, request, teacher, cancelled));
  const auto parameters = trainable.arguments();
  const auto arguments = all_arguments(parameters.size());
  const auto step = plan(*trainable.model().model, objective, request);
  forward.measure_experts(*trainable.model().model, trainable.bind(parameters), step, cancelled);
  std::vector<mx::array> sums;
  Gradients result;
  // Loss and parts of each micro-batch. The host does not wait for one before it goes on to the next.
  std::vector<std::vector<mx::array>> values;
  for (const auto& micro : step) {
    if (cancelled) {
      throw Error(ErrorCode::cancelled, "step: cancelled");
    }
    auto batch = forward.prepare(micro);
    auto inputs = objective.slice(micro);
    auto value = [&](const std::vector<mx::array>& by) {
      auto made = forward.make(*trainable.model().model, trainable.bind(by), batch);
      auto arrays = inputs.arrays;
      for (const auto& [name, values] : made) {
        arrays.insert_or_assign(
            name, name == "score" ? mx::take(values, inputs.last_row_S, 0) : values);
      }
      auto v = objective.evaluate(arrays, inputs.layout);
      return std::vector<mx::array>{v.loss, mx::stop_gradient(v.parts_M2)};
    };
    auto [made, grads] = mx::value_and_grad(value, arguments)(parameters);
    auto more = trainable.summands(grads);
    for (size_t i = 0; i < sums.size(); i++) {
      more[i] = sums[i] + more[i];
    }
    sums = std::move(more);
    auto under_way = made;
    under_way.insert(under_way.end(), sums.begin(), sums.end());
    mx::async_eval(under_way);
    values.push_back(std::move(made));
    for (int row : micro.rows) {
      result.tokens += request.rows.lengths[row];
    }
  }
  result.by_master = sums.empty() ? zeros_like(masters) : trainable.by_master(sums);
  mx::async_eval(result.by_master);
  for (auto& made : values) {
    mx::eval(made);
    result.loss += made[0].item<float>();
    auto parts = objective.program().parts(made[1]);
    if (result.parts.empty()) {
      result.parts = std::move(parts);
    } else {
      objective.program().merge(result.parts, parts);
    }
  }
  return result;
}

StepResult train_step(
    Optimizer& optimizer,
    const StepRequest& request,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled) {
  const ReuseInOrder in_order;
  Objective objective(
      request.program,
      request.rows.targets(),
      request.trajectories,
      request.groups,
      request.skip,
      request.inputs);
  auto grads = gradients(optimizer.trainable(), objective, request, teacher, cancelled);
  StepResult result;
  result.loss = grads.loss;
  result.tokens = grads.tokens;
  if (!grads.parts.empty()) {
    result.metrics = objective.program().metrics(grads.parts);
  }
  result.grad_norm = global_norm(grads.by_master).item<float>();
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) {
    return result;
  }
  double scale =
      request.max_grad_norm ? clip_coefficient(result.grad_norm, *request.max_grad_norm) : 1.0;
  optimizer.update(grads.by_master, request.learning_rate, scale);
  result.updated = true;
  return result;
}

}  // namespace atelier
