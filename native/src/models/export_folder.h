#pragma once

#include "models/load.h"
#include "models/merged.h"

#include <atomic>

namespace atelier {

/** Largest file of weights; transformers' save_pretrained splits there too. */
inline constexpr uint64_t shard_bytes = 5'000'000'000;

struct FolderForm {
  mx::Dtype dtype = mx::float32;
  /** mlx-lm's form; absent: transformers'. */
  std::optional<Quantise> quantise = std::nullopt;
  /** What the files say they are made for: "pt" or "mlx". */
  std::string format = "pt";
  uint64_t shard = shard_bytes;
};

/**
 * config.json and safetensors of a merged checkpoint into an existing folder, as transformers (or mlx-lm 0.32) writes
 * them. What the base's config.json says beyond the model's shape is kept. One tensor is in memory at a time.
 */
void export_folder(
    const MergedCheckpoint& merged,
    const std::string& dir,
    const FolderForm& form,
    const std::atomic<bool>& cancelled);

}  // namespace atelier
