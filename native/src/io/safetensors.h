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
 * All tensors of one file. Where `dtype` is given they are weights: floats, converted to it. NaN and infinity
 * are refused.
 */
Params load_safetensors(const std::string& file, std::optional<mx::Dtype> dtype);

/** Where the tensors of a folder stand: the file and its part of the folder's headers. */
struct SafetensorsFolder {
  struct Tensor {
    std::string file;
    SafetensorsEntry entry;
  };
  std::map<std::string, Tensor> tensors;
};

/**
 * Reads and validates the headers of model.safetensors, or of the files that model.safetensors.index.json lists:
 * each must hold exactly what the index says.
 */
SafetensorsFolder read_safetensors_folder(const std::string& dir);

/** All tensors, which must be floats, as `dtype`. */
Params load_safetensors_folder(const SafetensorsFolder& folder, mx::Dtype dtype);

/** Writes beside, syncs, renames: a broken write leaves the old file. */
void save_safetensors(
    const std::string& file,
    const Params& tensors,
    const std::map<std::string, std::string>& metadata = {});

}  // namespace atelier
