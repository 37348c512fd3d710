#include "io/gguf.h"

#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/ggml_type.h"
#include "io/tensor.h"

#include <algorithm>

namespace atelier {

Params load_gguf(const std::string& path, const GgufHeader& header, mx::Dtype dtype) {
  for (const auto& [name, tensor] : header.tensors) {
    if (!find_ggml_type(tensor.type.c_str())->dequantise) {
      throw Error(
          ErrorCode::unsupported_model,
          path + ": tensor " + quoted(name) + " is stored as " + tensor.type +
              ", which is not read",
          "Use a file quantised as Q8_0, Q4_0 or Q4_1, or one in F16, BF16 or F32.");
    }
  }
  const FileReader file(path);
  Params out;
  std::vector<uint8_t> raw;
  for (const auto& [name, tensor] : header.tensors) {
    const GgmlType& type = *find_ggml_type(tensor.type.c_str());
    raw.resize(tensor.bytes);
    file.read(tensor.begin, raw.data(), tensor.bytes);
    const mx::Shape shape(tensor.shape.begin(), tensor.shape.end());
    const uint64_t blocks = tensor.bytes / type.block_bytes;
    mx::allocator::Data data = mx::allocator::malloc(blocks * type.block_items * sizeof(float));
    type.dequantise(
        raw.data(), blocks, static_cast<float*>(mx::allocator::Buffer(data.buffer()).raw_ptr()));
    mx::array value = mx::astype(mx::array(std::move(data), shape, mx::float32), dtype);
    out.emplace(name, checked_finite(value, path, name));
  }
  return out;
}

}  // namespace atelier
