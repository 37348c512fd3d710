#pragma once

#include <cstddef>
#include <cstdint>

namespace atelier {

/** A storage type of ggml: `block_items` numbers of a row in `block_bytes` bytes. */
struct GgmlType {
  uint32_t id;
  const char* name;
  int64_t block_items;
  uint64_t block_bytes;
  /** Writes blocks as f32; null where the engine does not read the type. */
  void (*dequantise)(const uint8_t* blocks, size_t count, float* out);
};

/** Null where ggml has no such type. */
const GgmlType* find_ggml_type(uint32_t id);
const GgmlType* find_ggml_type(const char* name);

}  // namespace atelier
