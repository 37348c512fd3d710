#include "addon/fields.h"

#include "core/error.h"

#include <cmath>
#include <sstream>

namespace atelier {
namespace {

// 9007199254740991 and 0.5 rather than 9.0072e+15 and 0.500000.
std::string plain(double value) {
  std::ostringstream text;
  text.precision(16);
  text << value;
  return text.str();
}

Napi::Object as_object(const Napi::Value& value, const std::string& where) {
  if (!value.IsObject()) {
    throw Error(ErrorCode::invalid_argument, where + " must be an object");
  }
  return value.As<Napi::Object>();
}

}  // namespace

Fields::Fields(Napi::Value value, std::string where)
    : object_(as_object(value, where)), where_(std::move(where)) {}

std::string Fields::path(const std::string& key) const {
  return where_ + "." + key;
}

void Fields::fail(const std::string& key, const std::string& what) const {
  throw Error(ErrorCode::invalid_argument, path(key) + " " + what);
}

Napi::Value Fields::get(const char* key) const {
  return object_.Get(key);
}

bool Fields::has(const char* key) const {
  auto value = get(key);
  return !value.IsUndefined() && !value.IsNull();
}

double Fields::double_at(const char* key) const {
  auto value = get(key);
  if (!value.IsNumber()) {
    fail(key, "must be a number");
  }
  return value.As<Napi::Number>().DoubleValue();
}

double Fields::number(const char* key, double min, double max) const {
  double value = double_at(key);
  if (!(value >= min && value <= max)) {
    fail(key, "is " + plain(value) + "; it must be from " + plain(min) + " to " + plain(max));
  }
  return value;
}

int64_t Fields::integer(const char* key, int64_t min, int64_t max) const {
  double value = double_at(key);
  if (!(value >= static_cast<double>(min) && value <= static_cast<double>(max)) ||
      std::trunc(value) != value) {
    fail(
        key,
        "is " + plain(value) + "; it must be a whole number from " + std::to_string(min) + " to " +
            std::to_string(max));
  }
  return static_cast<int64_t>(value);
}

uint64_t Fields::seed(const char* key) const {
  return static_cast<uint64_t>(integer(key, 0, (int64_t{1} << 53) - 1));
}

bool Fields::flag(const char* key, bool otherwise) const {
  if (!has(key)) {
    return otherwise;
  }
  auto value = get(key);
  if (!value.IsBoolean()) {
    fail(key, "must be true or false");
  }
  return value.As<Napi::Boolean>().Value();
}

std::string Fields::text(const char* key) const {
  auto value = get(key);
  if (!value.IsString()) {
    fail(key, "must be a string");
  }
  return value.As<Napi::String>().Utf8Value();
}

std::vector<std::string> Fields::keys() const {
  const Napi::Array names = object_.GetPropertyNames();
  std::vector<std::string> out;
  for (uint32_t i = 0; i < names.Length(); i++) {
    out.push_back(Napi::Value(names[i]).ToString().Utf8Value());
  }
  return out;
}

std::string Fields::text_or_empty(const char* key) const {
  return has(key) ? text(key) : std::string();
}

std::vector<std::string> Fields::texts(const char* key) const {
  auto value = get(key);
  if (!value.IsArray()) {
    fail(key, "must be an array of strings");
  }
  auto array = value.As<Napi::Array>();
  std::vector<std::string> result;
  for (uint32_t i = 0; i < array.Length(); i++) {
    Napi::Value item = array[i];
    if (!item.IsString()) {
      fail(key, "must be an array of strings");
    }
    result.push_back(item.As<Napi::String>().Utf8Value());
  }
  return result;
}

std::vector<int> Fields::list_of_integers(const char* key) const {
  auto value = get(key);
  if (!value.IsArray()) {
    fail(key, "must be an array of numbers");
  }
  auto array = value.As<Napi::Array>();
  std::vector<int> result;
  for (uint32_t i = 0; i < array.Length(); i++) {
    Napi::Value item = array[i];
    double number = item.IsNumber() ? item.As<Napi::Number>().DoubleValue() : NAN;
    if (std::trunc(number) != number || std::abs(number) > 1e9) {
      fail(key, "must be an array of whole numbers");
    }
    result.push_back(static_cast<int>(number));
  }
  return result;
}

Napi::Object Fields::object_at(const char* key) const {
  return as_object(get(key), path(key));
}

Fields Fields::object(const char* key) const {
  return {get(key), path(key)};
}

std::vector<std::pair<std::string, double>> Fields::numbers(const char* key) const {
  auto object = object_at(key);
  std::vector<std::pair<std::string, double>> result;
  auto names = object.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); i++) {
    auto name = Napi::Value(names[i]).As<Napi::String>();
    auto value = object.Get(name);
    if (!value.IsNumber()) {
      fail(std::string(key) + "." + name.Utf8Value(), "must be a number");
    }
    result.emplace_back(name.Utf8Value(), value.As<Napi::Number>().DoubleValue());
  }
  return result;
}

template <class T>
std::vector<T> Fields::copy(
    Napi::Value value,
    const std::string& key,
    napi_typedarray_type type,
    const char* name) const {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
    fail(key, std::string("must be a ") + name);
  }
  auto array = value.As<Napi::TypedArrayOf<T>>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<int32_t> Fields::int32s(const char* key) const {
  return copy<int32_t>(get(key), key, napi_int32_array, "Int32Array");
}

std::vector<uint32_t> Fields::uint32s(const char* key) const {
  return copy<uint32_t>(get(key), key, napi_uint32_array, "Uint32Array");
}

std::vector<uint8_t> Fields::bytes(const char* key) const {
  return copy<uint8_t>(get(key), key, napi_uint8_array, "Uint8Array");
}

std::vector<std::vector<int32_t>> Fields::list_of_int32s(const char* key) const {
  auto value = get(key);
  if (!value.IsArray()) {
    fail(key, "must be an array of Int32Array");
  }
  auto array = value.As<Napi::Array>();
  std::vector<std::vector<int32_t>> result;
  for (uint32_t i = 0; i < array.Length(); i++) {
    auto name = std::string(key) + "[" + std::to_string(i) + "]";
    result.push_back(copy<int32_t>(array[i], name, napi_int32_array, "Int32Array"));
  }
  return result;
}

std::map<std::string, std::vector<float>> Fields::named_floats(const char* key) const {
  auto object = object_at(key);
  std::map<std::string, std::vector<float>> result;
  auto names = object.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); i++) {
    auto name = Napi::Value(names[i]).As<Napi::String>();
    auto field = std::string(key) + "." + name.Utf8Value();
    result.emplace(
        name.Utf8Value(), copy<float>(object.Get(name), field, napi_float32_array, "Float32Array"));
  }
  return result;
}

}  // namespace atelier
