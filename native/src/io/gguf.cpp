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
          "Use a file quantised as Q8_0, Q4_K_M or another K-quant, or one in F16, BF16 or F32.");
    }
  }
}

std::vector<float> read_gguf_tensor(const std::string& file, const GgufTensor& tensor) {
  std::vector<float> out(items(tensor));
  dequantise(FileReader(file), tensor, out.data());
  return out;
}

mx::array load_gguf(
    const std::string& file,
    const std::string& name,
    const GgufTensor& tensor,
    mx::Dtype dtype) {
  const mx::Shape shape(tensor.shape.begin(), tensor.shape.end());
  mx::allocator::Data data = mx::allocator::malloc(items(tensor) * sizeof(float));
  dequantise(
      FileReader(file),
      tensor,
      static_cast<float*>(mx::allocator::Buffer(data.buffer()).raw_ptr()));
  mx::array value = mx::astype(mx::array(std::move(data), shape, mx::float32), dtype);
  return checked_finite(value, file, name);
}

}  // namespace atelier
