#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace atelier::testing {

/** Makes GGUF files (version 3) for tests. */
class GgufWriter {
 public:
  void text(const std::string& key, const std::string& value) {
    metadata(key, 8);
    put_string(head_, value);
  }
  void u32(const std::string& key, uint32_t value) {
    metadata(key, 4);
    put(head_, value);
  }
  void f32(const std::string& key, float value) {
    metadata(key, 6);
    put(head_, value);
  }
  void strings(const std::string& key, const std::vector<std::string>& values) {
    metadata(key, 9);
    put(head_, uint32_t{8});
    put(head_, uint64_t{values.size()});
    for (const std::string& v : values) {
      put_string(head_, v);
    }
  }
  /** `shape` with rows first; `type` is ggml's number. */
  void tensor(
      const std::string& name,
      std::vector<uint64_t> shape,
      uint32_t type,
      const std::string& bytes) {
    put_string(infos_, name);
    put(infos_, static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i-- > 0;) {
      put(infos_, shape[i]);
    }
    put(infos_, type);
    put(infos_, uint64_t{data_.size()});
    data_ += bytes;
    data_.resize((data_.size() + 31) / 32 * 32);
    tensors_++;
  }
  std::string bytes() const {
    std::string out = "GGUF";
    put(out, uint32_t{3});
    put(out, tensors_);
    put(out, values_);
    out += head_ + infos_;
    out.resize((out.size() + 31) / 32 * 32);
    return out + data_;
  }

 private:
  template <class T>
  static void put(std::string& to, T value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void put_string(std::string& to, const std::string& text) {
    put(to, uint64_t{text.size()});
    to += text;
  }
  void metadata(const std::string& key, uint32_t type) {
    put_string(head_, key);
    put(head_, type);
    values_++;
  }

  std::string head_, infos_, data_;
  uint64_t tensors_ = 0, values_ = 0;
};

}  // namespace atelier::testing
