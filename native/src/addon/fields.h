#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <napi.h>

namespace atelier {

/**
 * Reads a JS object field by field; every getter throws invalid_argument that names the field and says what
 * it must be. Typed arrays are copied: JS's memory is never kept.
 */
class Fields {
 public:
  Fields(Napi::Value value, std::string where);

  bool has(const char* key) const;
  Napi::Value get(const char* key) const;
  /** As messages spell it: "rows.lengths". */
  std::string path(const std::string& key) const;

  double number(const char* key, double min, double max) const;
  int64_t integer(const char* key, int64_t min, int64_t max) const;
  /** A whole number from 0 to 2^53 - 1. */
  uint64_t seed(const char* key) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key) const;
  /** Names of the object's own fields. */
  std::vector<std::string> keys() const;
  /** Empty where absent. */
  std::string text_or_empty(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  /** In the object's own order. */
  std::vector<std::pair<std::string, double>> numbers(const char* key) const;

  std::vector<int32_t> int32s(const char* key) const;
  std::vector<uint32_t> uint32s(const char* key) const;
  std::vector<uint8_t> bytes(const char* key) const;
  std::vector<std::vector<int32_t>> list_of_int32s(const char* key) const;
  std::map<std::string, std::vector<float>> named_floats(const char* key) const;
  std::vector<int> list_of_integers(const char* key) const;
  Fields object(const char* key) const;

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;
  double double_at(const char* key) const;
  Napi::Object object_at(const char* key) const;
  template <class T>
  std::vector<T> copy(
      Napi::Value value,
      const std::string& key,
      napi_typedarray_type type,
      const char* name) const;

  Napi::Object object_;
  std::string where_;
};

}  // namespace atelier
