#include "train/trainable.h"

#include "kernels/views.h"
#include "nn/lora.h"

namespace atelier {
namespace {

// As PEFT's files name an adapter's tensors.
const std::string peft_prefix = "base_model.model.";

ParameterKind kind_of(const std::string& name, const mx::Shape& shape) {
  if (name == "model.embed_tokens.weight") {
    return ParameterKind::embedding;
  }
  if (name == "lm_head.weight" || name == scalar_head_name) {
    return ParameterKind::head;
  }
  // However low its rank.
  if (name.find(".lora_A.") != std::string::npos || name.find(".lora_B.") != std::string::npos) {
    return ParameterKind::matrix;
  }
  // The kernel of a convolution over time [channels, 1, width] is a row of filters, not a matrix.
  const bool matrix = shape.size() >= 2 && shape[shape.size() - 2] > 1;
  return matrix ? ParameterKind::matrix : ParameterKind::vector;
}

mx::array placed(const mx::array& parameters, const Tiles& tiles, mx::Dtype dtype) {
  if (cpu_kernels_for(parameters) && dtype == mx::float32) {
    return place_tiles_cpu(parameters, tiles);
  }
  return (tiles_fit_gpu(parameters, tiles) ? place_tiles_gpu : place_tiles_plain)(
      parameters, tiles, dtype);
}

mx::array taken(const mx::array& stacked, const Tiles& tiles) {
  return (
      tiles_fit_gpu(stacked, tiles) ? take_tiles_gpu
      : cpu_kernels_for(stacked)    ? take_tiles_cpu
                                    : take_tiles_plain)(stacked, tiles);
}

}  // namespace

Trainable Trainable::of_adapter(
    std::shared_ptr<LoadedModel> model,
    std::shared_ptr<Adapter> adapter) {
  Trainable t;
  for (const auto& [name, array] : adapter->params) {
    t.parameters_.push_back(
        {peft_prefix + name, kind_of(name, array.shape()), array.shape(), t.masters_.size()});
    t.masters_.push_back(array);
  }
  t.model_ = std::move(model);
  t.adapter_ = std::move(adapter);
  return t;
}

Trainable Trainable::of_model(std::shared_ptr<LoadedModel> model) {
  Trainable t;
  t.model_ = std::move(model);
  const Model& m = *t.model_->model;
  for (const auto& [name, array] : m.unstack(t.model_->weights)) {
    if (m.buffers().count(name)) {
      continue;
    }
    t.tensors_.push_back(name);
    t.parameters_.push_back(
        {m.stored_name(name), kind_of(name, array.shape()), array.shape(), t.masters_.size()});
    t.masters_.push_back(mx::astype(array, mx::float32));
  }
  mx::eval(t.masters_);
  return t;
}

void Trainable::join() {
  if (!adapter_ || layout_ || !adapter_->saved.empty() || masters_.empty()) {
    return;
  }
  auto layout = lora_layout(model_->model->linears(), adapter_->sites);
  int64_t size = 0;
  for (const auto& master : masters_) {
    size += static_cast<int64_t>(master.size());
  }
  // Something else is trained beside it, a scalar head say.
  if (!layout || layout->tiles.taken != size) {
    return;
  }
  layout_ = std::move(layout);
  masters_ = {whole(masters_)};
  mx::eval(masters_);
  int64_t from = 0;
  for (Parameter& p : parameters_) {
    p.master = 0;
    p.from = from;
    int64_t numbers = 1;
    for (int n : p.shape) {
      numbers *= n;
    }
    from += numbers;
  }
  publish();
}

mx::array Trainable::part(const Parameter& p, const mx::array& of_master) const {
  if (!layout_) {
    return of_master;
  }
  return view(of_master, p.from, p.shape);
}

mx::array Trainable::whole(const std::vector<mx::array>& parts) const {
  if (!layout_) {
    return parts.at(0);
  }
  std::vector<mx::array> flat;
  for (const auto& part : parts) {
    flat.push_back(mx::flatten(part));
  }
  return mx::concatenate(flat, 0);
}

std::vector<mx::array> Trainable::arguments() const {
  if (layout_) {
    return stacked_;
  }
  if (adapter_) {
    return masters_;
  }
  std::vector<mx::array> arguments;
  for (const auto& [name, array] : model_->weights) {
    arguments.push_back(array);
  }
  return arguments;
}

Bound Trainable::bind(const std::vector<mx::array>& arguments) const {
  if (layout_) {
    Bound bound = bind_model(*model_);
    for (size_t i = 0; i < arguments.size(); i++) {
      bound.lora.emplace(layout_->stacked[i].name, arguments[i]);
    }
    return bound;
  }
  Params named;
  size_t i = 0;
  for (const auto& [name, array] : adapter_ ? adapter_->params : model_->weights) {
    named.emplace(name, arguments[i++]);
  }
  if (!adapter_) {
    return bind_weights(std::move(named));
  }
  return bind_adapter(*model_, *adapter_, named);
}

std::vector<mx::array> Trainable::summands(const std::vector<mx::array>& by_argument) const {
  std::vector<mx::array> few = by_argument;
  if (layout_) {
    std::vector<int64_t> starts;
    for (const auto& matrix : layout_->stacked) {
      starts.push_back(matrix.at);
    }
    few = {atelier::join(by_argument, starts, layout_->tiles.size)};
  }
  for (auto& array : few) {
    array = mx::astype(array, mx::float32);
  }
  return few;
}

std::vector<mx::array> Trainable::by_master(const std::vector<mx::array>& sums) const {
  if (layout_) {
    return {taken(sums[0], layout_->tiles)};
  }
  if (adapter_) {
    return sums;
  }
  auto stacked = [this](const std::vector<mx::array>& masters) {
    Params named;
    for (size_t i = 0; i < masters.size(); i++) {
      named.emplace(tensors_[i], masters[i]);
    }
    std::vector<mx::array> weights;
    for (const auto& [name, array] : model_->model->stack(named)) {
      weights.push_back(array);
    }
    return weights;
  };
  std::vector<mx::array> of_parameters;
  const std::set<std::string> buffers = model_->model->buffers();
  size_t argument = 0;
  for (const auto& [name, array] : model_->weights) {
    if (!buffers.count(name)) {
      of_parameters.push_back(sums[argument]);
    }
    argument++;
  }
  return mx::vjp(stacked, masters_, of_parameters).second;
}

void Trainable::move(size_t i, mx::array master) {
  masters_[i] = std::move(master);
}

void Trainable::publish() {
  if (layout_) {
    size_t i = 0;
    for (auto& [name, array] : adapter_->params) {
      array = part(parameters_[i++], masters_[0]);
    }
    const mx::array all = placed(masters_[0], layout_->tiles, model_->dtype);
    stacked_.clear();
    for (const auto& matrix : layout_->stacked) {
      stacked_.push_back(view(all, matrix.at, matrix.shape));
    }
    mx::async_eval(stacked_);
    return;
  }
  size_t i = 0;
  if (adapter_) {
    for (auto& [name, array] : adapter_->params) {
      array = masters_[i++];
    }
    return;
  }
  Params named;
  for (const std::string& name : tensors_) {
    named.emplace(name, mx::astype(masters_[i++], model_->dtype));
  }
  auto weights = model_->model->stack(named);
  for (const std::string& buffer : model_->model->buffers()) {
    weights.emplace(buffer, model_->weights.at(buffer));
  }
  std::vector<mx::array> all;
  for (const auto& [name, array] : weights) {
    all.push_back(array);
  }
  mx::eval(all);
  model_->weights = std::move(weights);
  if (!has_own_masters()) {
    view_weights();
  }
}

void Trainable::view_weights() {
  size_t i = 0;
  const Params all = model_->model->unstack(model_->weights);
  for (const std::string& name : tensors_) {
    masters_[i++] = all.at(name);
  }
  mx::eval(masters_);
}

}  // namespace atelier
