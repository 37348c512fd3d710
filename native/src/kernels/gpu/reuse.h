#pragma once

#include "core/mlx.h"

namespace atelier {

/**
 * While one lives, memory on a CUDA GPU may be given to the next launch before those that used it are done: launches of
 * one stream come one after the other. MLX by itself keeps what a launch reads until the host has heard that it is
 * done: for work queued ahead, up to twice of what is needed. Waits for the GPU at its end.
 */
class ReuseInOrder {
 public:
  ReuseInOrder();
  ~ReuseInOrder();
  ReuseInOrder(const ReuseInOrder&) = delete;
};

/**
 * Sends off what was evaluated before, and lets what comes after take the memory of what that alone has read. False
 * where that cannot be: nothing was done then.
 */
bool release_used(mx::Stream stream);

}  // namespace atelier
