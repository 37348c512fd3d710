#pragma once

#include "models/bound.h"

#include <memory>
#include <string>
#include <vector>

namespace atelier {

/**
 * The parameters that an optimiser moves, as f32 masters in a fixed order: an adapter's, or every
 * weight of the model. It writes them back to their owner after each update.
 */
class Trainable {
 public:
  static Trainable of_adapter(std::shared_ptr<LoadedModel> model, std::shared_ptr<Adapter> adapter);
  static Trainable of_model(std::shared_ptr<LoadedModel> model);

  const LoadedModel& model() const {
    return *model_;
  }
  /** Every weight of the model is trained. */
  bool full() const {
    return adapter_ == nullptr;
  }
  bool trains_head() const {
    return full() || atelier::trains_head(*model_, *adapter_);
  }
  const std::vector<std::string>& names() const {
    return names_;
  }
  const std::vector<mx::array>& masters() const {
    return masters_;
  }

  /** The forward's arrays as functions of the masters. */
  Bound bind(const std::vector<mx::array>& masters) const;
  /** Takes evaluated masters over. */
  void assign(std::vector<mx::array> masters);
  /** Values in the order of names(), by the names that files use (transformers' or PEFT's). */
  Params by_name(const std::vector<mx::array>& values) const;
  /** Its inverse; throws invalid_file where names or shapes do not fit. */
  std::vector<mx::array> in_order(const Params& values, const std::string& file) const;

 private:
  std::shared_ptr<LoadedModel> model_;
  std::shared_ptr<Adapter> adapter_;
  std::vector<std::string> names_;
  std::vector<mx::array> masters_;
};

}  // namespace atelier
