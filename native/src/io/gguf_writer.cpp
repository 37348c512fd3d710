#include "io/gguf_writer.h"

#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/ggml_blocks.h"
#include "io/ggml_type.h"

#include <cmath>
#include <cstring>

namespace atelier {
namespace {

constexpr uint64_t alignment = 32;

// Value types of ggml's docs/gguf.md.
enum class ValueType : uint32_t { u32 = 4, i32 = 5, f32 = 6, boolean = 7, text = 8, list = 9 };

class Bytes {
 public:
  template <class T>
  void put(T value) {
    const char* from = reinterpret_cast<const char*>(&value);
    out_.append(from, sizeof value);
  }
  void put(const std::string& value) {
    put(uint64_t{value.size()});
    out_ += value;
  }
  void pad() {
    out_.resize((out_.size() + alignment - 1) / alignment * alignment, '\0');
  }
  const std::string& bytes() const {
    return out_;
  }

 private:
  std::string out_;
};

void put_entry(Bytes& out, const GgufEntry& e) {
  out.put(e.key);
  switch (e.type) {
    case GgufEntry::Type::u32:
      out.put(ValueType::u32);
      out.put(static_cast<uint32_t>(e.number));
      break;
    case GgufEntry::Type::i32:
      out.put(ValueType::i32);
      out.put(static_cast<int32_t>(e.number));
      break;
    case GgufEntry::Type::f32:
      out.put(ValueType::f32);
      out.put(static_cast<float>(e.number));
      break;
    case GgufEntry::Type::boolean:
      out.put(ValueType::boolean);
      out.put(static_cast<uint8_t>(e.number != 0));
      break;
    case GgufEntry::Type::text:
      out.put(ValueType::text);
      out.put(e.text);
      break;
    case GgufEntry::Type::list_of_i32:
      out.put(ValueType::list);
      out.put(ValueType::i32);
      out.put(uint64_t{e.numbers.size()});
      for (const int32_t n : e.numbers) {
        out.put(n);
      }
      break;
    case GgufEntry::Type::list_of_text:
      out.put(ValueType::list);
      out.put(ValueType::text);
      out.put(uint64_t{e.texts.size()});
      for (const std::string& t : e.texts) {
        out.put(t);
      }
      break;
  }
}

uint64_t size_of(const GgufToWrite& tensor) {
  const GgmlType& type = *find_ggml_type(tensor.type.c_str());
  uint64_t items = 1;
  for (const int n : tensor.shape) {
    items *= static_cast<uint64_t>(n);
  }
  return items / static_cast<uint64_t>(type.block_items) * type.block_bytes;
}

std::string encoded(const GgufToWrite& tensor) {
  mx::array value = mx::contiguous(tensor.make());
  value.eval();
  if (value.shape() != tensor.shape || value.dtype() != mx::float32) {
    throw Error(ErrorCode::internal, tensor.name + " is not what was announced");
  }
  std::string out(size_of(tensor), '\0');
  auto* to = reinterpret_cast<uint8_t*>(out.data());
  const float* from = value.data<float>();
  if (tensor.type == "F32") {
    std::memcpy(to, from, out.size());
  } else if (tensor.type == "Q8_0") {
    write_q8_0(from, value.size() / 32, to);
  } else {
    for (size_t i = 0; i < value.size(); i++) {
      const mx::float16_t half(from[i]);
      if (!std::isfinite(static_cast<float>(half))) {
        throw Error(
            ErrorCode::invalid_argument,
            "tensor " + quoted(tensor.name) + " has " + std::to_string(from[i]) +
                ", which f16 does not hold",
            "Export as f32 or q8_0.");
      }
      std::memcpy(to + 2 * i, &half, 2);
    }
  }
  return out;
}

}  // namespace

void write_gguf(
    const std::string& file,
    const std::vector<GgufEntry>& metadata,
    const std::vector<GgufToWrite>& tensors) {
  Bytes head;
  head.put(uint32_t{0x46554747});  // "GGUF"
  head.put(uint32_t{3});
  head.put(uint64_t{tensors.size()});
  head.put(uint64_t{metadata.size()});
  for (const GgufEntry& e : metadata) {
    put_entry(head, e);
  }
  uint64_t at = 0;
  auto padded = [](uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  for (const GgufToWrite& t : tensors) {
    head.put(t.name);
    head.put(static_cast<uint32_t>(t.shape.size()));
    for (size_t i = t.shape.size(); i-- > 0;) {
      head.put(static_cast<uint64_t>(t.shape[i]));
    }
    head.put(find_ggml_type(t.type.c_str())->id);
    head.put(at);
    at += padded(size_of(t));
  }
  head.pad();
  write_atomically(file, [&](const Append& append) {
    append(head.bytes().data(), head.bytes().size());
    for (const GgufToWrite& t : tensors) {
      std::string data = encoded(t);
      data.resize(padded(data.size()), '\0');
      append(data.data(), data.size());
    }
  });
}

}  // namespace atelier
