#pragma once

#include "core/params.h"

#include <cstdint>
#include <functional>
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

/** One tensor; `dtype` as in load_safetensors. */
mx::array load_safetensor(
    const SafetensorsFolder::Tensor& tensor,
    const std::string& name,
    std::optional<mx::Dtype> dtype);

/** A tensor that is made when its turn to be written comes, so that one is in memory at a time. */
struct TensorToWrite {
  std::string name;
  mx::Dtype dtype;
  mx::Shape shape;
  std::function<mx::array()> make;

  uint64_t bytes() const;
};

/** Writes beside, syncs, renames: a broken write leaves the old file. */
void write_safetensors(
    const std::string& file,
    const std::vector<TensorToWrite>& tensors,
    const std::map<std::string, std::string>& metadata);

/** The same of tensors that are there. */
void save_safetensors(
    const std::string& file,
    const Params& tensors,
    const std::map<std::string, std::string>& metadata = {});

}  // namespace atelier
