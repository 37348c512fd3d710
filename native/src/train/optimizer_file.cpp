#include "train/optimizer.h"

#include "core/error.h"
#include "io/safetensors.h"

namespace atelier {
namespace {

using Metadata = std::map<std::string, std::string>;

constexpr const char* kind_key = "optimizer";
constexpr const char* steps_key = "updates";
// Files of version 0.1, which had AdamW only, name these.
constexpr const char* first_steps_key = "adamw_steps";

bool finite(const mx::array& a) {
  return !mx::issubdtype(a.dtype(), mx::floating) || mx::all(mx::isfinite(a)).item<bool>();
}

int64_t read_steps(const Metadata& metadata, const std::string& file) {
  auto at = metadata.find(steps_key);
  if (at == metadata.end()) {
    at = metadata.find(first_steps_key);
  }
  if (at == metadata.end() || at->second.empty() || at->second.size() > 15 ||
      at->second.find_first_not_of("0123456789") != std::string::npos) {
    throw Error(
        ErrorCode::invalid_file,
        file + ": its metadata has no count '" + steps_key + "'; not an optimiser's file");
  }
  return std::stoll(at->second);
}

void check_kind(const Metadata& metadata, const std::string& ours, const std::string& file) {
  auto at = metadata.find(kind_key);
  const std::string theirs = at == metadata.end() ? "adamw" : at->second;
  if (theirs != ours) {
    throw Error(
        ErrorCode::invalid_file,
        file + ": holds the states of the optimiser '" + theirs + "', not of '" + ours + "'");
  }
}

// Takes the file's array of this name out of `tensors`.
mx::array
taken(Params& tensors, const std::string& name, const mx::array& like, const std::string& file) {
  auto found = tensors.find(name);
  if (found == tensors.end()) {
    throw Error(ErrorCode::invalid_file, file + ": no values for '" + name + "'");
  }
  if (found->second.shape() != like.shape() || found->second.dtype() != like.dtype()) {
    throw Error(
        ErrorCode::invalid_file,
        file + ": '" + name + "' has another shape or type than the optimiser's");
  }
  auto array = found->second;
  tensors.erase(found);
  if (!finite(array)) {
    throw Error(ErrorCode::invalid_file, file + ": '" + name + "' is not finite");
  }
  return array;
}

}  // namespace

void Optimizer::save(const std::string& file) const {
  refuse_torn();
  Params tensors;
  for (const Parameter& p : trainable_.parameters()) {
    for (const auto& [state, array] : states_[p.master]) {
      tensors.emplace(state + "." + p.name, mx::contiguous(trainable_.part(p, array)));
    }
    if (trainable_.has_own_masters()) {
      tensors.emplace("master." + p.name, mx::contiguous(trainable_.masters()[p.master]));
    }
  }
  for (const auto& [name, array] : tensors) {
    if (!finite(array)) {
      throw Error(
          ErrorCode::non_finite,
          "The optimiser's '" + name + "' is not finite: it is not saved",
          "The checkpoint before is kept. A lower learning rate usually helps.");
    }
  }
  save_safetensors(
      file, tensors, {{kind_key, kind_name(kind_)}, {steps_key, std::to_string(steps_)}});
}

void Optimizer::load(const std::string& file) {
  const auto metadata = read_safetensors_header(file).metadata;
  check_kind(metadata, kind_name(kind_), file);
  const auto steps = read_steps(metadata, file);
  auto tensors = load_safetensors(file, std::nullopt);
  auto states = states_;
  auto masters = trainable_.masters();
  std::vector<mx::array> all;
  // Of each master's state, its parameters' parts.
  std::vector<std::map<std::string, std::vector<mx::array>>> parts(states.size());
  for (const Parameter& p : trainable_.parameters()) {
    for (const auto& [state, array] : states[p.master]) {
      parts[p.master][state].push_back(
          taken(tensors, state + "." + p.name, trainable_.part(p, array), file));
    }
    if (trainable_.has_own_masters()) {
      masters[p.master] = taken(tensors, "master." + p.name, masters[p.master], file);
      all.push_back(masters[p.master]);
    }
  }
  for (size_t i = 0; i < states.size(); i++) {
    for (auto& [state, array] : states[i]) {
      array = trainable_.whole(parts[i].at(state));
      all.push_back(array);
    }
  }
  if (!tensors.empty()) {
    throw Error(
        ErrorCode::invalid_file,
        file + ": '" + tensors.begin()->first + "' belongs to nothing that is trained here");
  }
  mx::eval(all);
  if (trainable_.has_own_masters()) {
    for (size_t i = 0; i < masters.size(); i++) {
      trainable_.move(i, std::move(masters[i]));
    }
    trainable_.publish();
  }
  states_ = std::move(states);
  steps_ = steps;
  torn_ = false;
}

}  // namespace atelier
