#include "addon/files.h"

namespace atelier {
namespace {

Napi::Array shape_to_js(Napi::Env env, const std::vector<int64_t>& shape) {
  auto result = Napi::Array::New(env, shape.size());
  for (size_t i = 0; i < shape.size(); i++) {
    result[i] = static_cast<double>(shape[i]);
  }
  return result;
}

constexpr uint64_t exact_in_double = uint64_t{1} << 53;

struct ValueToJs {
  Napi::Env env;

  Napi::Value operator()(uint64_t v) const {
    if (v > exact_in_double) {
      return Napi::BigInt::New(env, v);
    }
    return Napi::Number::New(env, static_cast<double>(v));
  }
  Napi::Value operator()(int64_t v) const {
    if (v > static_cast<int64_t>(exact_in_double) || v < -static_cast<int64_t>(exact_in_double)) {
      return Napi::BigInt::New(env, v);
    }
    return Napi::Number::New(env, static_cast<double>(v));
  }
  Napi::Value operator()(double v) const {
    return Napi::Number::New(env, v);
  }
  Napi::Value operator()(bool v) const {
    return Napi::Boolean::New(env, v);
  }
  Napi::Value operator()(const std::string& v) const {
    return Napi::String::New(env, v);
  }
  // A vocabulary has a hundred thousand entries: each its own handle scope.
  Napi::Value operator()(const std::vector<GgufValue>& v) const {
    auto result = Napi::Array::New(env, v.size());
    for (size_t i = 0; i < v.size(); i++) {
      Napi::HandleScope scope(env);
      result[i] = std::visit(*this, v[i].value);
    }
    return result;
  }
};

}  // namespace

Napi::Value to_js(Napi::Env env, const SafetensorsHeader& header) {
  auto result = Napi::Object::New(env);
  for (const auto& [name, entry] : header.tensors) {
    auto tensor = Napi::Object::New(env);
    tensor.Set("dtype", entry.dtype);
    tensor.Set("shape", shape_to_js(env, entry.shape));
    tensor.Set("bytes", static_cast<double>(entry.bytes));
    result.Set(name, tensor);
  }
  return result;
}

Napi::Value to_js(Napi::Env env, const GgufHeader& header) {
  auto metadata = Napi::Object::New(env);
  for (const auto& [key, value] : header.metadata) {
    metadata.Set(key, std::visit(ValueToJs{env}, value.value));
  }
  auto tensors = Napi::Array::New(env);
  for (const auto& [name, entry] : header.tensors) {
    auto tensor = Napi::Object::New(env);
    tensor.Set("name", name);
    tensor.Set("type", entry.type);
    tensor.Set("shape", shape_to_js(env, entry.shape));
    tensors[tensors.Length()] = tensor;
  }
  auto result = Napi::Object::New(env);
  result.Set("metadata", metadata);
  result.Set("tensors", tensors);
  return result;
}

}  // namespace atelier
