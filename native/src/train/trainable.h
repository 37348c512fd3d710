#pragma once

#include "models/bound.h"
#include "nn/lora_layout.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace atelier {

/** What a parameter is in its model: weight decay and Muon go by it. */
enum class ParameterKind { matrix, head, embedding, vector };

struct Parameter {
  /** As files name it: transformers' or PEFT's. */
  std::string name;
  ParameterKind kind;
  mx::Shape shape;
  /** Which master holds it: all of it, or what begins there. */
  size_t master;
  int64_t from = 0;
};

/**
 * The parameters that an optimiser moves, as f32 masters in a fixed order: an adapter's, or every tensor of
 * the model as a checkpoint has it (q, k and v apart) but its buffers. A forward is differentiated by `arguments`, which for a
 * model are its weights in their compute type: so there is no third copy of them.
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
  const std::vector<Parameter>& parameters() const {
    return parameters_;
  }
  /** What is moved: each parameter, or all of them joined. */
  const std::vector<mx::array>& masters() const {
    return masters_;
  }

  /**
   * Puts all parameters end to end into one master, and what the forward takes of them into one vector: some thousands
   * of small operations a step become a few. For LoRA's matrices alone; others stay as they are.
   */
  void join();
  /** A parameter's part of an array that is like its master. */
  mx::array part(const Parameter& parameter, const mx::array& of_master) const;
  /** An array like a master from its parameters' parts, in their order. */
  mx::array whole(const std::vector<mx::array>& parts) const;

  std::vector<mx::array> arguments() const;
  /** The forward's arrays as functions of the arguments. */
  Bound bind(const std::vector<mx::array>& arguments) const;
  /** Gradients by the arguments in f32, in as few arrays as they can be summed in. Lazy. */
  std::vector<mx::array> summands(const std::vector<mx::array>& by_argument) const;
  /** Gradients by the masters, f32, from sums of those. Lazy. */
  std::vector<mx::array> by_master(const std::vector<mx::array>& sums) const;

  /** Takes over an evaluated master; the forward sees it after publish(). */
  void move(size_t i, mx::array master);
  /** Writes the masters to their owner. */
  void publish();

  /** Masters that the model's own files would not bring back bit for bit. */
  bool has_own_masters() const {
    return !adapter_ && model_->dtype != mx::float32;
  }

 private:
  /** In f32 the masters are views of the weights. */
  void view_weights();

  std::shared_ptr<LoadedModel> model_;
  std::shared_ptr<Adapter> adapter_;
  std::vector<Parameter> parameters_;
  /** Of a model: what the masters' tensors are called in it. */
  std::vector<std::string> tensors_;
  std::vector<mx::array> masters_;
  /** Of joined parameters, and what the forward takes of them, end to end. */
  std::optional<LoraLayout> layout_;
  std::vector<mx::array> stacked_;
};

}  // namespace atelier
