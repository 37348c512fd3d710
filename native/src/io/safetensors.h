#pragma once

#include "core/params.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace atelier {

struct SafetensorsEntry {
  /** As the file spells it: F32, BF16 ... */
  std::string dtype;
  std::vector<int64_t> shape;
  /** From the file's start. */
  uint64_t begin;
  uint64_t bytes;
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;
};

/** Reads and validates the header of one file. Every violation is an invalid_file error with file, tensor, rule. */
SafetensorsHeader read_safetensors_header(const std::string& file);

/**
 * All tensors of one file; floats converted to `dtype` where given, else kept. Weights with NaN or infinity
 * are refused.
 */
Params load_safetensors(const std::string& file, std::optional<mx::Dtype> dtype);

/** model.safetensors of a folder, or the files that model.safetensors.index.json lists. */
Params load_safetensors_folder(const std::string& dir, std::optional<mx::Dtype> dtype);

/** Writes beside, syncs, renames: a broken write leaves the old file. */
void save_safetensors(
    const std::string& file,
    const Params& tensors,
    const std::map<std::string, std::string>& metadata = {});

}  // namespace atelier
