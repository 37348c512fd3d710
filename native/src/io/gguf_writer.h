#pragma once

#include "core/mlx.h"
#include "io/gguf.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace atelier {

/** One metadata value with the type that it is stored as. */
struct GgufEntry {
  enum class Type { u32, i32, f32, boolean, text, list_of_i32, list_of_text };

  std::string key;
  Type type;
  double number = 0;
  std::string text = {};
  std::vector<int32_t> numbers = {};
  std::vector<std::string> texts = {};
};

/** A tensor that is made, as f32, when its turn to be written comes. */
struct GgufToWrite {
  std::string name;
  /** F32, F16 or Q8_0. */
  std::string type;
  mx::Shape shape;
  std::function<mx::array()> make;
};

/**
 * A GGUF file, version 3 (ggml's docs/gguf.md), written beside, synced, renamed. invalid_argument where a number is
 * beyond f16.
 */
void write_gguf(
    const std::string& file,
    const std::vector<GgufEntry>& metadata,
    const std::vector<GgufToWrite>& tensors);

}  // namespace atelier
