#include "train/step.h"

#include "core/error.h"
#include "kernels/gpu/reuse.h"
#include "train/row_memory.h"
#include "train/score.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

Rows only(const Rows& all, const std::vector<int>& rows) {
  const RowOffsets offsets(all);
  Rows some;
  for (int row : rows) {
    const auto from = all.ids.begin() + offsets.token[row];
    some.ids.insert(some.ids.end(), from, from + all.lengths[row]);
    some.lengths.push_back(all.lengths[row]);
  }
  return some;
}

// What the program's whole-step numbers need from the policy as it is, without gradient, of one rank's rows; 0 at all
// others.
Numbers made_for_prepass(
    const Trainable& trainable,
    const StepRequest& request,
    const ScoreOptions& options,
    const std::vector<int>& rows,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled) {
  const auto own = score(
      *trainable.model().model,
      trainable.bind(trainable.arguments()),
      only(request.rows, rows),
      options,
      teacher,
      cancelled);
  const auto targets = request.rows.targets();
  const RowOffsets offsets(request.rows);
  size_t total = 0;
  for (auto count : targets) {
    total += count;
  }
  Numbers made;
  for (const auto& [name, values] : own) {
    const bool by_row = name == "score";
    auto& all = made[name];
    all.resize(by_row ? targets.size() : total);
    auto from = values.begin();
    for (int row : rows) {
      const int count = by_row ? 1 : targets[row];
      std::copy(from, from + count, all.begin() + (by_row ? row : offsets.target[row]));
      from += count;
    }
  }
  return made;
}

// The same of all rows on all ranks.
Numbers whole_prepass(
    const Trainable& trainable,
    const Objective& objective,
    const StepRequest& request,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled,
    const Ranks& ranks) {
  const ScoreOptions options{request.temperature, objective.prepass_wanted(), request.micro_tokens};
  if (options.wanted.empty()) {
    return {};
  }
  Numbers made;
  ranks.together([&] {
    std::vector<std::vector<int>> each(request.rows.lengths.size());
    for (size_t row = 0; row < each.size(); row++) {
      each[row] = {static_cast<int>(row)};
    }
    std::vector<int> rows;
    for (const auto& unit : share_of(each, request.rows.targets(), ranks.rank(), ranks.size())) {
      rows.push_back(unit[0]);
    }
    made = made_for_prepass(trainable, request, options, rows, teacher, cancelled);
  });
  for (auto& [name, values] : made) {
    values = ranks.sum(values);
  }
  if (auto by_row = made.find("score"); by_row != made.end()) {
    by_row->second = objective.of_last_rows(by_row->second);
  }
  return made;
}

std::vector<MicroBatch> plan(
    const Model& model,
    const Objective& objective,
    const StepRequest& request,
    const Ranks& ranks) {
  const auto all = objective.units();
  const auto units = share_of(all, request.rows.targets(), ranks.rank(), ranks.size());
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

// Padded lines of a micro-batch.
int lines_of(const MicroBatch& micro) {
  return micro.line.empty() ? static_cast<int>(micro.rows.size()) : micro.line.back() + 1;
}

// Refused by what the backward keeps at least: a step that would fit always runs.
void check_rooms(
    const LoadedModel& model,
    const std::vector<MicroBatch>& step,
    const StepRequest& request,
    const CheckRoom& check_room) {
  uint64_t most = 0;
  const MicroBatch* largest = nullptr;
  auto line_bytes = [&](const MicroBatch& micro) {
    return training_row_bytes(*model.model, micro.length, model.dtype, request.recompute);
  };
  for (const auto& micro : step) {
    const uint64_t bytes = line_bytes(micro) * lines_of(micro);
    if (bytes > most) {
      most = bytes;
      largest = &micro;
    }
  }
  if (!largest || !check_room) {
    return;
  }
  const int lines = lines_of(*largest);
  const bool packed = !largest->line.empty();
  // A row has one token more than it has inputs.
  const std::string length = std::to_string(largest->length + (packed ? 0 : 1));
  const std::string row = packed ? "packed line" : "row";
  const std::string recompute = request.recompute ? "" : ", recompute layers";
  if (lines > 1) {
    // One line alone first: where it does not fit, smaller micro-batches do not help.
    check_room(
        line_bytes(*largest),
        "Training on a " + row + " of " + length + " tokens",
        "Train on shorter rows" + recompute);
  }
  check_room(
      most,
      lines == 1 ? "Training on a " + row + " of " + length + " tokens"
                 : "Training on " + std::to_string(lines) + " " + row + "s of " + length +
                       " tokens at once",
      lines == 1 ? "Train on shorter rows" + recompute
                 : "Take smaller micro-batches (microTokens), of " + length + " tokens at least" +
                       recompute);
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

// How the experts are used by the rows of all ranks.
void measure_experts(Forward& forward, ExpertCounts counts, const Ranks& ranks) {
  auto& chosen_E = counts.chosen_E;
  double tokens = 0;
  for (const auto& of :
       ranks.gather({static_cast<double>(chosen_E.size()), counts.tokens, counts.layers})) {
    chosen_E.resize(std::max(chosen_E.size(), static_cast<size_t>(of[0])));
    tokens += of[1];
    counts.layers = std::max(counts.layers, of[2]);
  }
  counts.tokens = tokens;
  chosen_E = ranks.sum(chosen_E);
  forward.use_experts(counts);
}

// Loss and metric sums of the micro-batches of one rank, and how many these are: without any they say nothing.
struct Sums {
  double batches = 0, loss = 0;
  program::Parts parts;
};

void add_up(
    Gradients& result,
    const Sums& own,
    const program::Program& program,
    const Ranks& ranks) {
  std::vector<double> numbers{own.batches, own.loss};
  for (const auto& [value, weight] : own.parts) {
    numbers.insert(numbers.end(), {value, weight});
  }
  numbers.resize(2 + 2 * program.metric_count());
  for (const auto& of : ranks.gather(numbers)) {
    if (of[0] == 0) {
      continue;
    }
    result.loss += of[1];
    program::Parts parts;
    for (size_t i = 2; i < of.size(); i += 2) {
      parts.emplace_back(of[i], of[i + 1]);
    }
    if (result.parts.empty()) {
      result.parts = std::move(parts);
    } else {
      program.merge(result.parts, parts);
    }
  }
}

}  // namespace

Gradients gradients(
    const Trainable& trainable,
    Objective& objective,
    const StepRequest& request,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled,
    const Ranks& ranks,
    const CheckRoom& check_room) {
  const auto& masters = trainable.masters();
  if (request.rows.lengths.empty()) {
    return {0, {}, zeros_like(masters), 0};
  }
  const Model& model = *trainable.model().model;
  Forward forward(
      request.rows,
      {objective.wanted(),
       request.temperature,
       trainable.trains_head(),
       {request.recompute, request.noise},
       model.config().pad_token},
      teacher);
  const auto step = plan(model, objective, request, ranks);
  ranks.together([&] { check_rooms(trainable.model(), step, request, check_room); });
  objective.prepass(whole_prepass(trainable, objective, request, teacher, cancelled, ranks));
  const auto parameters = trainable.arguments();
  const auto arguments = all_arguments(parameters.size());
  if (forward.wants("routerAux")) {
    ExpertCounts counts;
    ranks.together([&] {
      counts = forward.count_experts(model, trainable.bind(parameters), step, cancelled);
    });
    measure_experts(forward, std::move(counts), ranks);
  }
  Gradients result;
  Sums own;
  ranks.together([&] {
    std::vector<mx::array> sums;
    // Loss and parts of each micro-batch. The host does not wait for one before it goes on to the next.
    std::vector<std::vector<mx::array>> values;
    for (const auto& micro : step) {
      if (cancelled) {
        throw Error(ErrorCode::cancelled, "step: cancelled");
      }
      auto batch = forward.prepare(micro);
      auto inputs = objective.slice(micro);
      auto value = [&](const std::vector<mx::array>& by) {
        auto made = forward.make(model, trainable.bind(by), batch);
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
    }
    result.by_master = sums.empty() ? zeros_like(masters) : trainable.by_master(sums);
    mx::async_eval(result.by_master);
    for (auto& made : values) {
      mx::eval(made);
      own.loss += made[0].item<float>();
      auto parts = objective.program().parts(made[1]);
      if (own.batches++ == 0) {
        own.parts = std::move(parts);
      } else {
        objective.program().merge(own.parts, parts);
      }
    }
  });
  add_up(result, own, objective.program(), ranks);
  result.by_master = ranks.sum(std::move(result.by_master));
  for (const auto& unit : objective.units()) {
    for (int row : unit) {
      result.tokens += request.rows.lengths[row];
    }
  }
  return result;
}

StepResult train_step(
    Optimizer& optimizer,
    const StepRequest& request,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled,
    const Ranks& ranks,
    const CheckRoom& check_room) {
  const ReuseInOrder in_order;
  Objective objective(
      request.program,
      request.rows.targets(),
      request.trajectories,
      request.groups,
      request.skip,
      request.inputs);
  auto grads =
      gradients(optimizer.trainable(), objective, request, teacher, cancelled, ranks, check_room);
  StepResult result;
  result.loss = grads.loss;
  result.tokens = grads.tokens;
  if (!grads.parts.empty()) {
    result.metrics = objective.program().metrics(grads.parts);
  }
  result.grad_norm = global_norm(grads.by_master).item<float>();
  result.gradient_peak_bytes = mx::get_peak_memory();
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
