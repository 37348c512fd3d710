#pragma once

#include "core/params.h"

#include <string>
#include <vector>

namespace atelier {

/**
 * A linear module as transformers names it, and where its rows stand in the engine's product: modules that
 * read the same input (q, k, v; gate, up) are stacked into one matrix, so that they cost one product.
 */
struct LinearModule {
  /** transformers' full name, e.g. `model.layers.0.self_attn.q_proj`. */
  std::string name;
  /** The product that computes it, e.g. `model.layers.0.self_attn.qkv_proj`. */
  std::string product;
  int in;
  int out;
  /** Its outputs are [row, row + out) of the product's. */
  int row;
};

/**
 * x [..., in] times the product's matrix: y = x Wᵀ + (x Aᵀ) Bᵀ, the second term where `lora` has the product.
 *
 * `weights` holds `<product>.weight` [out, in]; `lora` is what `stack_lora` made: `<product>.A` [R, in] and
 * `<product>.B` [out, R], the scale already in B. Both are arguments, so gradients reach them; an adapter
 * that is off is an empty Params.
 */
mx::array linear(const Params& weights, const Params& lora, const std::string& product, const mx::array& x);

} // namespace atelier
