#include "engine/engine.h"

#include <algorithm>

namespace atelier {

ProgramValue Engine::evaluate_program(const ProgramRequest& request) {
  auto program = program::Program::parse(request.program);
  auto layout = program::Layout::of_rows(request.targets, request.trajectories);
  program::Arrays inputs;
  for (const auto& input : program.inputs()) {
    if (auto given = request.inputs.find(input.name); given != request.inputs.end()) {
      inputs.emplace(input.name, number_array(given->second, input.shape));
    }
  }
  for (const auto& [name, values] : request.inputs) {
    if (!inputs.count(name)) {
      throw Error(
          ErrorCode::invalid_argument,
          "inputs." + name + ": the program has no input of that name");
    }
  }
  for (const auto& name : request.gradients) {
    const auto& all = program.inputs();
    bool known = std::any_of(all.begin(), all.end(), [&](const program::Input& input) {
      return input.name == name && !input.mask && input.shape != "scalar";
    });
    if (!known || !inputs.count(name)) {
      throw Error(
          ErrorCode::invalid_argument,
          "gradients: '" + name + "' is no number input [T], [S] or [S/n] of the program");
    }
  }
  program.check_inputs(inputs, layout, true);
  auto scalars = program.prepass(inputs, layout, count_all(layout.trajectories, request.groups));

  auto value = [&](const std::vector<mx::array>& by) {
    auto arrays = inputs;
    for (size_t i = 0; i < by.size(); i++) {
      arrays.insert_or_assign(request.gradients[i], by[i]);
    }
    auto v = program.evaluate(arrays, layout, scalars);
    return std::vector<mx::array>{v.loss, mx::stop_gradient(v.parts_M2)};
  };
  std::vector<mx::array> by, values, grads;
  std::vector<int> arguments;
  for (const auto& name : request.gradients) {
    arguments.push_back(static_cast<int>(by.size()));
    by.push_back(inputs.at(name));
  }
  if (by.empty()) {
    values = value(by);
  } else {
    std::tie(values, grads) = mx::value_and_grad(value, arguments)(by);
  }
  ProgramValue result;
  result.loss = values[0].item<float>();
  result.metrics = program.metrics(program.parts(values[1]));
  for (size_t i = 0; i < grads.size(); i++) {
    auto g = mx::contiguous(grads[i]);
    g.eval();
    result.gradients.emplace(
        request.gradients[i], std::vector<float>(g.data<float>(), g.data<float>() + g.size()));
  }
  return result;
}

}  // namespace atelier
