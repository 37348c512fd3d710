#include "io/gguf.h"

#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/ggml_type.h"
#include "io/tensor.h"

#include <algorithm>

namespace atelier {

namespace {

// `out` has room for all items of the tensor.
void dequantise(const FileReader& file, const GgufTensor& tensor, float* out) {
  const GgmlType& type = *find_ggml_type(tensor.type.c_str());
  std::vector<uint8_t> raw(tensor.bytes);
  file.read(tensor.begin, raw.data(), tensor.bytes);
  type.dequantise(raw.data(), tensor.bytes / type.block_bytes, out);
}

size_t items(const GgufTensor& tensor) {
  const GgmlType& type = *find_ggml_type(tensor.type.c_str());
  return tensor.bytes / type.block_bytes * static_cast<size_t>(type.block_items);
}

}  // namespace

void require_gguf_types(const std::string& file, const GgufHeader& header) {
  for (const auto& [name, tensor] : header.tensors) {
    if (!find_ggml_type(tensor.type.c_str())->dequantise) {
      throw Error(
          ErrorCode::unsupported_model,
          file + ": tensor " + quoted(name) + " is stored as " + tensor.type +
              ", which is not read",
          "Use a file quantised as Q8_0, Q4_0 or Q4_1, or one in F16, BF16 or F32.");
    }
  }
}

std::vector<float> read_gguf_tensor(const std::string& file, const GgufTensor& tensor) {
  std::vector<float> out(items(tensor));
  dequantise(FileReader(file), tensor, out.data());
  return out;
}

Params load_gguf(const std::string& path, const GgufHeader& header, mx::Dtype dtype) {
  require_gguf_types(path, header);
  const FileReader file(path);
  Params out;
  for (const auto& [name, tensor] : header.tensors) {
    const mx::Shape shape(tensor.shape.begin(), tensor.shape.end());
    mx::allocator::Data data = mx::allocator::malloc(items(tensor) * sizeof(float));
    dequantise(file, tensor, static_cast<float*>(mx::allocator::Buffer(data.buffer()).raw_ptr()));
    mx::array value = mx::astype(mx::array(std::move(data), shape, mx::float32), dtype);
    out.emplace(name, checked_finite(value, path, name));
  }
  return out;
}

}  // namespace atelier
