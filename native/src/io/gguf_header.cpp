#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/ggml_type.h"
#include "io/gguf.h"

#include <algorithm>
#include <cstring>

namespace atelier {
namespace {

constexpr uint64_t string_limit = 16'000'000;
constexpr uint64_t dimension_limit = (uint64_t{1} << 31) - 1;
constexpr int array_depth = 3;

enum Type : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// Reads little-endian values one after another; knows how much is left.
class Cursor {
 public:
  explicit Cursor(const FileReader& file) : file_(file) {}

  [[noreturn]] void refuse(const std::string& rule) const {
    throw Error(ErrorCode::invalid_file, file_.path() + ": " + rule);
  }
  uint64_t at() const {
    return at_;
  }
  uint64_t left() const {
    return file_.size() - at_;
  }
  template <class T>
  T number() {
    unsigned char bytes[sizeof(T)];
    read(bytes, sizeof(T));
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
  }
  std::string text(const std::string& what) {
    const auto length = number<uint64_t>();
    if (length > left() || length > string_limit) {
      refuse(
          what + ": a string of " + std::to_string(length) + " bytes at byte " +
          std::to_string(at_));
    }
    std::string out(length, '\0');
    read(out.data(), length);
    return out;
  }

 private:
  void read(void* into, uint64_t bytes) {
    if (bytes > left()) {
      refuse("ends in the middle of its header");
    }
    // Small reads come from a window, so that a header with many strings is not as many system calls.
    if (bytes > sizeof window_) {
      file_.read(at_, into, bytes);
    } else {
      if (at_ < window_at_ || at_ + bytes > window_at_ + window_size_) {
        window_at_ = at_;
        window_size_ = std::min<uint64_t>(sizeof window_, left());
        file_.read(at_, window_, window_size_);
      }
      std::memcpy(into, window_ + (at_ - window_at_), bytes);
    }
    at_ += bytes;
  }

  const FileReader& file_;
  uint64_t at_ = 0;
  char window_[65536];
  uint64_t window_at_ = 0;
  uint64_t window_size_ = 0;
};

uint64_t smallest_size(uint32_t type) {
  switch (type) {
    case u8:
    case i8:
    case boolean:
      return 1;
    case u16:
    case i16:
      return 2;
    case u32:
    case i32:
    case f32:
      return 4;
    case array:
      return 12;
    default:
      return 8;
  }
}

GgufValue read_value(Cursor& in, uint32_t type, const std::string& key, int depth) {
  switch (type) {
    case u8:
      return {uint64_t{in.number<uint8_t>()}};
    case i8:
      return {int64_t{in.number<int8_t>()}};
    case u16:
      return {uint64_t{in.number<uint16_t>()}};
    case i16:
      return {int64_t{in.number<int16_t>()}};
    case u32:
      return {uint64_t{in.number<uint32_t>()}};
    case i32:
      return {int64_t{in.number<int32_t>()}};
    case f32:
      return {double{in.number<float>()}};
    case boolean: {
      const auto value = in.number<uint8_t>();
      if (value > 1) {
        in.refuse("metadata " + quoted(key) + ": a boolean that is neither 0 nor 1");
      }
      return {value == 1};
    }
    case string:
      return {in.text("metadata " + quoted(key))};
    case u64:
      return {in.number<uint64_t>()};
    case i64:
      return {in.number<int64_t>()};
    case f64:
      return {in.number<double>()};
    case array: {
      if (depth == array_depth) {
        in.refuse("metadata " + quoted(key) + ": arrays nested too deep");
      }
      const auto item = in.number<uint32_t>();
      const auto count = in.number<uint64_t>();
      if (item > f64) {
        in.refuse("metadata " + quoted(key) + ": unknown type " + std::to_string(item));
      }
      if (count > in.left() / smallest_size(item)) {
        in.refuse(
            "metadata " + quoted(key) + ": " + std::to_string(count) +
            " items do not fit in the file");
      }
      std::vector<GgufValue> items;
      for (uint64_t i = 0; i < count; i++) {
        items.push_back(read_value(in, item, key, depth + 1));
      }
      return {std::move(items)};
    }
    default:
      in.refuse("metadata " + quoted(key) + ": unknown type " + std::to_string(type));
  }
}

GgufTensor read_tensor_info(Cursor& in, const std::string& name) {
  auto refuse = [&](const std::string& rule) { in.refuse("tensor " + quoted(name) + ": " + rule); };
  GgufTensor tensor;
  const auto dimensions = in.number<uint32_t>();
  if (dimensions < 1 || dimensions > 4) {
    refuse(std::to_string(dimensions) + " dimensions; there must be 1 to 4");
  }
  uint64_t items = 1;
  for (uint32_t i = 0; i < dimensions; i++) {
    const auto n = in.number<uint64_t>();
    if (n < 1 || n > dimension_limit) {
      refuse("a dimension is 0 or above 2^31 - 1");
    }
    if (items > UINT64_MAX / 64 / n) {
      refuse("the product of its dimensions is too large");
    }
    items *= n;
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(n));
  }
  const auto type = in.number<uint32_t>();
  const GgmlType* ggml = find_ggml_type(type);
  if (!ggml) {
    refuse("unknown type " + std::to_string(type));
  }
  if (tensor.shape.back() % ggml->block_items != 0) {
    refuse("its rows are no multiple of " + std::string(ggml->name) + "'s block");
  }
  tensor.type = ggml->name;
  tensor.bytes = items / ggml->block_items * ggml->block_bytes;
  tensor.begin = in.number<uint64_t>();
  return tensor;
}

// Makes offsets absolute; tensors must lie in the file, aligned, without overlap.
void place(GgufHeader& header, const Cursor& in, uint64_t file_size) {
  uint64_t alignment = 32;
  if (auto found = header.metadata.find("general.alignment"); found != header.metadata.end()) {
    const auto* value = std::get_if<uint64_t>(&found->second.value);
    if (!value || *value < 8 || *value > 65536 || (*value & (*value - 1)) != 0) {
      in.refuse("general.alignment must be a power of two from 8 to 65536");
    }
    alignment = *value;
  }
  const uint64_t start = (in.at() + alignment - 1) / alignment * alignment;
  const uint64_t room = start <= file_size ? file_size - start : 0;
  std::vector<std::pair<uint64_t, std::string>> order;
  for (auto& [name, tensor] : header.tensors) {
    if (tensor.begin % alignment != 0) {
      in.refuse(
          "tensor " + quoted(name) + ": its offset is not aligned to " + std::to_string(alignment));
    }
    if (tensor.bytes > room || tensor.begin > room - tensor.bytes) {
      in.refuse("tensor " + quoted(name) + ": its data do not lie in the file");
    }
    tensor.begin += start;
    order.emplace_back(tensor.begin, name);
  }
  std::sort(order.begin(), order.end());
  uint64_t end = start;
  for (const auto& [begin, name] : order) {
    if (begin < end) {
      in.refuse("tensor " + quoted(name) + ": overlaps the tensor before it");
    }
    end = begin + header.tensors.at(name).bytes;
  }
}

}  // namespace

GgufHeader read_gguf_header(const std::string& path) {
  const FileReader file(path);
  Cursor in(file);
  if (file.size() < 24 || in.number<uint32_t>() != 0x46554747) {
    in.refuse("not a GGUF file");
  }
  if (const auto version = in.number<uint32_t>(); version != 2 && version != 3) {
    in.refuse("GGUF version " + std::to_string(version) + "; 2 and 3 are read");
  }
  const auto tensors = in.number<uint64_t>();
  const auto values = in.number<uint64_t>();
  // A tensor takes at least 32 bytes of header, a value at least 13.
  if (tensors > in.left() / 32 || values > in.left() / 13) {
    in.refuse(
        std::to_string(tensors) + " tensors and " + std::to_string(values) +
        " metadata values do not fit in the file");
  }
  GgufHeader header;
  for (uint64_t i = 0; i < values; i++) {
    const std::string key = in.text("a metadata key");
    const auto type = in.number<uint32_t>();
    if (!header.metadata.emplace(key, read_value(in, type, key, 0)).second) {
      in.refuse("metadata " + quoted(key) + " appears twice");
    }
  }
  for (uint64_t i = 0; i < tensors; i++) {
    const std::string name = in.text("a tensor's name");
    if (!header.tensors.emplace(name, read_tensor_info(in, name)).second) {
      in.refuse("tensor " + quoted(name) + " appears twice");
    }
  }
  place(header, in, file.size());
  return header;
}

}  // namespace atelier
