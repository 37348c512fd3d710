#pragma once

#include "core/mlx.h"

#include <cstdint>

namespace atelier {

/**
 * What a draw is for: streams with different names never share numbers.
 */
enum class Stream : uint32_t { weights = 1, lora = 2, sampling = 3, embedding_noise = 4 };

/**
 * 128 random bits as a pure function of their coordinates: Philox4x32-10 (Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", 2011). There is no state, so the order of calls changes nothing.
 *
 * seed < 2^53; index_a and index_b are what the stream counts (a rollout and a token position, a tensor ...).
 */
struct RandomBits {
  uint32_t word[4];
};
RandomBits random_bits(uint64_t seed, Stream stream, uint32_t index_a, uint32_t index_b);

/** Uniform in [0, 1) on a grid of 2^-23: u * total < total holds in f32 for every total > 0. */
float random_uniform(uint64_t seed, Stream stream, uint32_t index_a, uint32_t index_b);

/** A key for mlx::core::random, from the same coordinates. */
mx::array random_key(uint64_t seed, Stream stream, uint32_t index_a, uint32_t index_b = 0);

}  // namespace atelier
