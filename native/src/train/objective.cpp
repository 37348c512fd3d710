#include "train/objective.h"

#include "core/error.h"
#include "kernels/from_host.h"

#include <mlx/utils.h>

#include <algorithm>
#include <set>

namespace atelier {
namespace {

// How many trajectories one entry stands for: "S" 1, "S/2" 2; 0 for [T] and scalars.
int trajectories_each(const std::string& shape) {
  if (shape == "S") {
    return 1;
  }
  return shape.rfind("S/", 0) == 0 ? std::stoi(shape.substr(2)) : 0;
}

std::vector<int32_t> own_trajectories(size_t rows) {
  std::vector<int32_t> result(rows);
  for (size_t i = 0; i < rows; i++) {
    result[i] = static_cast<int32_t>(i);
  }
  return result;
}

}  // namespace

mx::array number_array(const std::vector<float>& values, const std::string& shape) {
  if (shape == "scalar" && values.size() == 1) {
    return mx::array(values[0]);
  }
  return mx::array(values.begin(), {static_cast<int>(values.size())}, mx::float32);
}

program::Counts count_all(int trajectories, const std::vector<int32_t>& groups) {
  if (!groups.empty() && groups.size() != static_cast<size_t>(trajectories)) {
    refuse(
        "groups has " + std::to_string(groups.size()) + " entries for " +
        std::to_string(trajectories) + " trajectories");
  }
  program::Counts counts;
  counts.sequences = trajectories;
  counts.groups = groups.empty()
                      ? 1.0
                      : static_cast<double>(std::set<int32_t>(groups.begin(), groups.end()).size());
  return counts;
}

Objective::Objective(
    const std::string& program_json,
    const std::vector<int32_t>& targets,
    std::vector<int32_t> trajectories,
    const std::vector<int32_t>& groups,
    std::vector<uint8_t> skip,
    Numbers inputs)
    : program_(program::Program::parse(program_json)),
      targets_(targets),
      trajectories_(std::move(trajectories)),
      skip_(std::move(skip)),
      inputs_(std::move(inputs)) {
  if (trajectories_.empty()) {
    trajectories_ = own_trajectories(targets.size());
  }
  layout_ = program::Layout::of_rows(targets_, trajectories_);
  counts_ = count_all(layout_.trajectories, groups);
  if (skip_.empty()) {
    skip_.assign(layout_.trajectories, 0);
  }
  if (skip_.size() != static_cast<size_t>(layout_.trajectories)) {
    refuse(
        "skip has " + std::to_string(skip_.size()) + " entries for " +
        std::to_string(layout_.trajectories) + " trajectories");
  }
  bool skips = std::any_of(skip_.begin(), skip_.end(), [](uint8_t s) { return s != 0; });
  // The router's loss is of all tokens together.
  auto names = program_.engine_quantities();
  bool router = std::find(names.begin(), names.end(), "routerAux") != names.end();
  if (skips && (router || program_.unit() != 1 || !program_.prepass_quantities().empty())) {
    refuse("skip: this program's trajectories interact, so none can be left out");
  }
  int64_t offset = 0;
  for (auto n : targets) {
    offsets_.push_back(offset);
    offset += n;
  }
}

std::vector<Wanted> Objective::wanted() const {
  std::vector<Wanted> wanted;
  for (const auto& input : program_.inputs()) {
    if (input.from == program::Source::engine) {
      wanted.push_back({input.name, input.options, program_.differentiates(input.name)});
    }
  }
  return wanted;
}

std::vector<Wanted> Objective::prepass_wanted() const {
  auto names = program_.prepass_quantities();
  std::vector<Wanted> some;
  for (auto& one : wanted()) {
    if (std::find(names.begin(), names.end(), one.name) != names.end()) {
      one.gradient = false;
      some.push_back(std::move(one));
    }
  }
  return some;
}

std::vector<float> Objective::of_last_rows(const std::vector<float>& by_row) const {
  std::vector<float> last(layout_.trajectories);
  for (size_t row = 0; row < by_row.size(); row++) {
    last[trajectories_[row]] = by_row[row];
  }
  return last;
}

std::vector<std::vector<int>> Objective::units() const {
  int each =
      program_.unit() == 0 ? std::max(1, static_cast<int>(counts_.sequences)) : program_.unit();
  std::map<int, std::vector<int>> by_unit;
  for (size_t row = 0; row < trajectories_.size(); row++) {
    if (!skip_[trajectories_[row]]) {
      by_unit[trajectories_[row] / each].push_back(static_cast<int>(row));
    }
  }
  std::vector<std::vector<int>> units;
  for (auto& [unit, rows] : by_unit) {
    units.push_back(std::move(rows));
  }
  return units;
}

void Objective::prepass(const Numbers& made) {
  // A few numbers of a few thousand, and the host waits for each: a GPU takes longer to answer than the CPU to add up.
  const mx::StreamContext on_cpu{mx::Device(mx::Device::cpu)};
  program::Arrays arrays;
  for (const auto& input : program_.inputs()) {
    if (auto given = inputs_.find(input.name);
        given != inputs_.end() && input.from != program::Source::engine) {
      arrays.emplace(input.name, number_array(given->second, input.shape));
    }
  }
  for (const auto& [name, values] : inputs_) {
    if (!arrays.count(name)) {
      refuse("inputs." + name + ": the program takes no input of that name from the caller");
    }
  }
  program_.check_inputs(arrays, layout_, false);
  for (const auto& [name, values] : made) {
    arrays.emplace(name, number_array(values, name == "score" ? "S" : "T"));
  }
  scalars_ = program_.prepass(arrays, layout_, counts_);
}

MicroInputs Objective::slice(const MicroBatch& batch) const {
  std::set<int32_t> present;
  for (int row : batch.rows) {
    present.insert(trajectories_[row]);
  }
  std::map<int32_t, int32_t> local;
  for (int32_t t : present) {
    local.emplace(t, static_cast<int32_t>(local.size()));
  }
  std::vector<int32_t> targets, trajectories, last(local.size()), last_row(local.size(), -1);
  for (size_t i = 0; i < batch.rows.size(); i++) {
    int row = batch.rows[i];
    targets.push_back(targets_[row]);
    trajectories.push_back(local.at(trajectories_[row]));
    if (row > last_row[trajectories.back()]) {
      last_row[trajectories.back()] = row;
      last[trajectories.back()] = static_cast<int32_t>(i);
    }
  }
  MicroInputs micro{
      {},
      program::Layout::of_rows(targets, trajectories),
      from_host(last, {static_cast<int>(last.size())})};
  const auto& of_targets = micro.layout.trajectory_T;
  micro.layout.on_device = from_host(of_targets, {static_cast<int>(of_targets.size())});
  for (const auto& input : program_.inputs()) {
    auto given = inputs_.find(input.name);
    if (input.from == program::Source::engine || given == inputs_.end()) {
      continue;
    }
    const auto& all = given->second;
    std::vector<float> values;
    if (int each = trajectories_each(input.shape); each > 0) {
      for (int32_t t : present) {
        if (t % each == 0) {
          values.push_back(all[t / each]);
        }
      }
    } else if (input.shape == "T") {
      for (int row : batch.rows) {
        auto from = all.begin() + offsets_[row];
        values.insert(values.end(), from, from + targets_[row]);
      }
    } else {
      values = all;
    }
    const int size = static_cast<int>(values.size());
    micro.arrays.emplace(
        input.name,
        input.shape == "scalar" ? number_array(values, input.shape)
                                : from_host(std::move(values), {size}));
  }
  return micro;
}

program::Value Objective::evaluate(const program::Arrays& inputs, const program::Layout& layout)
    const {
  return program_.evaluate(inputs, layout, scalars_);
}

}  // namespace atelier
