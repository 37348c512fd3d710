#pragma once

#include "core/params.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace atelier {

/** One metadata value: whole numbers as u64 or i64, f32 as double, arrays as arrays. */
struct GgufValue {
  std::variant<uint64_t, int64_t, double, bool, std::string, std::vector<GgufValue>> value;
};

struct GgufTensor {
  /** ggml's name: F32, F16, Q4_1 ... */
  std::string type;
  /** Rows first, as elsewhere (the file has them reversed). */
  std::vector<int64_t> shape;
  /** From the file's start. */
  uint64_t begin;
  uint64_t bytes;
};

struct GgufHeader {
  std::map<std::string, GgufValue> metadata;
  std::map<std::string, GgufTensor> tensors;
};

/**
 * Reads and validates everything before the data of a GGUF file, version 2 or 3 (ggml's docs/gguf.md): every
 * count is held against what is left of the file before anything is allocated for it.
 */
GgufHeader read_gguf_header(const std::string& file);

/** unsupported_model where a tensor is of a type that load_gguf does not read. */
void require_gguf_types(const std::string& file, const GgufHeader& header);

/** The numbers of one tensor, which is of a type that is read (require_gguf_types). */
std::vector<float> read_gguf_tensor(const std::string& file, const GgufTensor& tensor);

/** The same as an array, dequantised to `dtype` and evaluated; NaN and infinity are refused. */
mx::array load_gguf(
    const std::string& file,
    const std::string& name,
    const GgufTensor& tensor,
    mx::Dtype dtype);

}  // namespace atelier
