#pragma once

#include "models/model.h"

namespace atelier {

// What parts with a recurrence share.

/** Numbers of a row's state and of its convolution's tail (KvCache::Layer). */
uint64_t recurrent_numbers(int heads, int key_dim, int value_dim, int channels, int width);

/**
 * The layer's past, or null without a cache. Throws invalid_argument where a mask separates sequences that share a
 * row: a recurrence would run from one into the next.
 */
KvCache::Layer* recurrent_past(const Model::Pass& pass, int index);

}  // namespace atelier
