#include "io/tensor.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>

namespace atelier {
namespace {

struct TypeName {
  const char* name;
  int bytes;
  /** Absent where MLX has no such type. */
  std::optional<mx::Dtype> dtype;
};

const TypeName types[] = {
    {"BOOL", 1, mx::bool_},
    {"U8", 1, mx::uint8},
    {"I8", 1, mx::int8},
    {"U16", 2, mx::uint16},
    {"I16", 2, mx::int16},
    {"U32", 4, mx::uint32},
    {"I32", 4, mx::int32},
    {"U64", 8, mx::uint64},
    {"I64", 8, mx::int64},
    {"F16", 2, mx::float16},
    {"BF16", 2, mx::bfloat16},
    {"F32", 4, mx::float32},
    {"F64", 8, mx::float64},
    {"C64", 8, mx::complex64},
    {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt},
};

[[noreturn]] void
unsupported_dtype(const std::string& file, const std::string& name, const std::string& dtype) {
  throw Error(
      ErrorCode::unsupported_model,
      file + ": tensor " + quoted(name) + ": dtype " + dtype + " is not supported",
      "Use a checkpoint in F32, F16 or BF16.");
}

}  // namespace

uint64_t safetensors_item_size(const std::string& dtype) {
  for (const TypeName& t : types) {
    if (dtype == t.name) {
      return t.bytes;
    }
  }
  return 0;
}

std::string safetensors_dtype(mx::Dtype dtype) {
  for (const TypeName& t : types) {
    if (t.dtype == dtype) {
      return t.name;
    }
  }
  throw Error(ErrorCode::internal, "a dtype that safetensors does not have");
}

void require_weight_dtype(
    const std::string& file,
    const std::string& name,
    const std::string& dtype) {
  if (dtype != "F32" && dtype != "F16" && dtype != "BF16") {
    unsupported_dtype(file, name, dtype);
  }
}

mx::array
checked_finite(const mx::array& tensor, const std::string& file, const std::string& name) {
  if (!mx::all(mx::isfinite(tensor)).item<bool>()) {
    throw Error(
        ErrorCode::invalid_file,
        file + ": tensor " + quoted(name) + ": has NaN or infinite values");
  }
  return tensor;
}

mx::array read_tensor(
    const FileReader& file,
    const std::string& name,
    uint64_t begin,
    uint64_t bytes,
    const mx::Shape& shape,
    const std::string& dtype,
    std::optional<mx::Dtype> to) {
  if (to) {
    require_weight_dtype(file.path(), name, dtype);
  }
  std::optional<mx::Dtype> type;
  for (const TypeName& t : types) {
    if (dtype == t.name) {
      type = t.dtype;
    }
  }
  if (!type) {
    unsupported_dtype(file.path(), name, dtype);
  }
  mx::allocator::Data data = mx::allocator::malloc(std::max<uint64_t>(bytes, 1));
  file.read(begin, mx::allocator::Buffer(data.buffer()).raw_ptr(), bytes);
  mx::array raw(std::move(data), shape, *type);
  if (!mx::issubdtype(*type, mx::floating)) {
    return raw;
  }
  mx::array tensor = to ? mx::astype(raw, *to) : raw;
  mx::eval(tensor);
  return checked_finite(tensor, file.path(), name);
}

}  // namespace atelier
