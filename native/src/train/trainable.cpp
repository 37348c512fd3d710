#include "train/trainable.h"

#include "core/error.h"
#include "io/peft_tensors.h"

namespace atelier {
namespace {

std::map<std::string, mx::Shape> whole_shapes(const Adapter& adapter) {
  std::map<std::string, mx::Shape> out;
  for (const std::string& module : adapter.saved) {
    out.emplace(module + ".weight", adapter.params.at(module + ".weight").shape());
  }
  return out;
}

}  // namespace

Trainable Trainable::of_adapter(
    std::shared_ptr<LoadedModel> model,
    std::shared_ptr<Adapter> adapter) {
  Trainable t;
  for (const auto& [name, array] : adapter->params) {
    t.names_.push_back(name);
    t.masters_.push_back(array);
  }
  t.model_ = std::move(model);
  t.adapter_ = std::move(adapter);
  return t;
}

Trainable Trainable::of_model(std::shared_ptr<LoadedModel> model) {
  Trainable t;
  for (const auto& [name, array] : model->weights) {
    t.names_.push_back(name);
    t.masters_.push_back(mx::astype(array, mx::float32));
  }
  mx::eval(t.masters_);
  t.model_ = std::move(model);
  return t;
}

Bound Trainable::bind(const std::vector<mx::array>& masters) const {
  Params named;
  for (size_t i = 0; i < names_.size(); i++) {
    named.emplace(names_[i], adapter_ ? masters[i] : mx::astype(masters[i], model_->dtype));
  }
  if (!adapter_) {
    return bind_weights(std::move(named));
  }
  return bind_adapter(*model_, *adapter_, named);
}

void Trainable::assign(std::vector<mx::array> masters) {
  masters_ = std::move(masters);
  for (size_t i = 0; i < names_.size(); i++) {
    if (adapter_) {
      adapter_->params.insert_or_assign(names_[i], masters_[i]);
    } else {
      auto weight = mx::astype(masters_[i], model_->dtype);
      weight.eval();
      model_->weights.insert_or_assign(names_[i], weight);
    }
  }
}

Params Trainable::by_name(const std::vector<mx::array>& values) const {
  Params named;
  for (size_t i = 0; i < names_.size(); i++) {
    named.emplace(names_[i], values[i]);
  }
  const Model& model = *model_->model;
  return adapter_ ? peft_tensors(named, model.linears()) : model.unstack(named);
}

std::vector<mx::array> Trainable::in_order(const Params& values, const std::string& file) const {
  Params expected = by_name(masters_);
  for (const auto& [name, array] : expected) {
    auto found = values.find(name);
    if (found == values.end()) {
      throw Error(ErrorCode::invalid_file, file + ": no values for '" + name + "'");
    }
    if (found->second.shape() != array.shape()) {
      throw Error(
          ErrorCode::invalid_file, file + ": '" + name + "' has another shape than the parameter");
    }
  }
  if (values.size() != expected.size()) {
    throw Error(ErrorCode::invalid_file, file + ": holds parameters that are not trained here");
  }
  const Model& model = *model_->model;
  const Params named =
      adapter_
          ? adapter_params(values, adapter_->sites, whole_shapes(*adapter_), model.linears(), file)
          : model.stack(values);
  std::vector<mx::array> result;
  for (const auto& name : names_) {
    result.push_back(named.at(name));
  }
  return result;
}

}  // namespace atelier
