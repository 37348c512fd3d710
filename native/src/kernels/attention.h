#pragma once

#include "kernels/heads.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace atelier {

/** Which slots a query sees, and what its scores are multiplied by. */
struct AttentionSpec {
  /** First slot of each row, int32 [B]; empty: 0. */
  std::vector<int32_t> start;
  double scale;
  /** A query sees its own slot and the window - 1 before it; 0: all. */
  int window = 0;
};

/**
 * softmax(scale q kᵀ) v; q [B, H, L, E], k and v [B, K, S, E] with K dividing H. Query l stands in slot
 * S - L + l and sees the slots from its row's start, and not before its window, up to its own; a query before its
 * row's start sees its own slot only.
 */
mx::array attention_plain(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const AttentionSpec& spec);
/** The same, a key head at a time, with a backward. f32 on the CPU, where has_blas(). */
mx::array attention_cpu(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const AttentionSpec& spec);

/** For one query a row (L = 1): in one pass, straight from views of a longer cache, without a gradient. */
mx::array decode_attention_cpu(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const AttentionSpec& spec);

/** Rows that a line of DecodeRows holds. */
constexpr int decode_line = 8;

/** Rows of whole caches [B, K, S, E]. */
struct DecodeRows {
  /** Where every row's query stands, int32 [1]. */
  mx::array slot;
  /** First slot of each row, int32 [B]; counts in place of AttentionSpec's. */
  mx::array start_B;
  /**
   * Of each row another, and the slot up to which that holds the same, int32 [B, 2]: where a prompt is sampled from
   * several times, all its rows read one's. {b, 0} where there is none.
   */
  mx::array alike_B2;
  /**
   * All rows in lines of decode_line, int32 [T, 8], -1 behind the last: a line holds copies of one row, the last ones
   * whatever is left. None where no more than half of the rows are in lines of copies.
   */
  std::optional<mx::array> lines_T8 = std::nullopt;
};

/** The same against whole caches [B, K, S, E]. */
mx::array decode_attention_plain(
    const mx::array& q,
    const mx::array& k_cache,
    const mx::array& v_cache,
    const DecodeRows& rows,
    const AttentionSpec& spec);
/** The same on CUDA, for f16 and bf16 and heads of 64, 128 and 256. No gradient. */
mx::array decode_attention_gpu(
    const mx::array& q,
    const mx::array& k_cache,
    const mx::array& v_cache,
    const DecodeRows& rows,
    const AttentionSpec& spec);
bool decode_attention_fits_gpu(const mx::array& q, const mx::array& k_cache);

/** What attention gives [B, H, 1, E], and the caches with the new slot. */
struct DecodedHeads {
  mx::array y, k_cache, v_cache;
};
/**
 * All that lies between the stacked q/k/v product of one position a row, [B, 1, (H + 2K) E], and the output product:
 * split_heads (kernels/heads.h), its k and v into `slot` of whole caches, in their buffers (GpuKernel::in_place), and
 * decode_attention. Its twins are those, one after the other. On CUDA.
 */
DecodedHeads decode_heads_gpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& heads,
    const mx::array& k_cache,
    const mx::array& v_cache,
    const DecodeRows& rows,
    const AttentionSpec& spec);
bool decode_heads_fits_gpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const mx::array& cos,
    const HeadsSpec& heads,
    const mx::array& k_cache);

}  // namespace atelier
