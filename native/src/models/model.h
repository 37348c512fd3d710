#pragma once

#include "core/modules.h"
#include "core/params.h"
#include "models/config.h"
#include "nn/attention.h"
#include "nn/kv_cache.h"
#include "nn/rope.h"
#include "nn/weight.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace atelier {

/** What a tensor of a new model holds. */
enum class Fill { normal, ones, zeros };

struct TensorSpec {
  std::string name;
  mx::Shape shape;
  Fill fill = Fill::normal;
  /** Not a parameter: full-parameter training leaves it as it is. */
  bool buffer = false;
};

/** What one row of tokens costs, in numbers of the activations' type. */
struct RowNumbers {
  /** Keys and values of a token while the row is decoded. */
  uint64_t cached_token = 0;
  /** What the backward keeps of a token at least, and of each pair of tokens where attention's weights are kept. */
  uint64_t kept_token = 0;
  uint64_t kept_pair = 0;
  /** What linear attention keeps of the whole row while it is decoded; f32 numbers, whatever its length. */
  uint64_t recurrent = 0;
};

/**
 * A decoder-only language model: pure functions of (weights, lora, input). It holds no arrays: base weights
 * and the stacked adapter (nn/lora.h) come as arguments, so that the same forward serves generation,
 * scoring and training, and gradients flow to whatever is differentiated.
 *
 * `weights` are in the engine's form: transformers' names, with q/k/v and gate/up stacked (`stack`).
 * B batch, L length, D hidden, V vocabulary.
 */
class Model {
 public:
  explicit Model(ModelConfig config) : config_(std::move(config)) {}
  virtual ~Model() = default;

  const ModelConfig& config() const {
    return config_;
  }

  /** Every tensor of a checkpoint, by transformers' names. */
  virtual std::vector<TensorSpec> tensors() const = 0;
  /** Numbers in all tensors. */
  int64_t parameters() const;
  /** The name in checkpoints of a tensor that is known here by the name of transformers' module. */
  virtual std::string stored_name(const std::string& name) const {
    return name;
  }
  /** Names of the engine's tensors that no optimiser moves. */
  virtual std::set<std::string> buffers() const {
    return {};
  }
  /** Modules that LoRA can attach to. */
  virtual std::vector<LinearModule> linears() const = 0;
  /** Experts that each token is sent to by softmax routers, which routerAux is defined for; 0: there are none. */
  virtual int chosen_experts() const {
    return 0;
  }
  /** Of all layers. */
  virtual RowNumbers row_numbers() const = 0;
  /** transformers' tensors -> the engine's; `unstack` is its inverse. Both are linear and differentiable. */
  virtual Params stack(const Params& checkpoint) const = 0;
  virtual Params unstack(const Params& weights) const = 0;

  /** Layers are mixtures of experts. */
  bool mixture() const;
  /** Whether a mask keeps packed rows apart: false where layers carry a state along the line. */
  virtual bool masks_separate() const {
    return true;
  }

  /** What the layers of one forward share. */
  struct Pass {
    /** Of each rope that the model's layers use. */
    std::vector<RopeAngles> angles;
    Visibility visible;
    KvCache* cache = nullptr;
    /** Where each mixture of experts puts its router's logits, f32 [B L, experts]; null: nowhere. */
    std::vector<mx::array>* router_logits = nullptr;
  };

  /**
   * Final-norm hidden states [B, L, D] of ids_BL (int32).
   *
   * Without a cache: positions 0..L-1, causal. Rows padded on the right need nothing more, since no real token
   * sees what comes after it. `mask` (boolean or additive [B, 1, L, L], every query sees something) replaces
   * the causal one, e.g. for packed rows; positions need not restart there, rope is relative.
   * With a cache: the L tokens go into slots [length, length + L) of every row and see their row's slots.
   */
  mx::array hidden(
      const Params& weights,
      const Params& lora,
      const mx::array& ids_BL,
      KvCache* cache = nullptr,
      std::optional<mx::array> mask = std::nullopt,
      std::vector<mx::array>* router_logits = nullptr) const;

  /** The steps of `hidden`, for callers that recompute layers or want every layer's output. */
  virtual Pass begin(const mx::array& ids_BL, KvCache* cache, std::optional<mx::array> mask)
      const = 0;
  virtual mx::array embed(const Params& weights, const mx::array& ids_BL) const = 0;
  virtual mx::array layer(
      int index,
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Pass& pass) const = 0;
  virtual mx::array final_norm(const Params& weights, const mx::array& x_BLD) const = 0;
  /**
   * [V, D]: `lm_head` where the weights have one, else the tied embedding. Logits are hidden · headᵀ, in f32. An
   * adapter may bring a head of its own beside a tied embedding. Throws invalid_argument for a reward model.
   */
  Weight head(const Params& weights) const;

  /** f32 logits [..., V] of hidden states [..., D]. */
  mx::array logits(const Params& weights, const mx::array& hidden) const;

 private:
  ModelConfig config_;
};

}  // namespace atelier
