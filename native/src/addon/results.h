#pragma once

#include "engine/engine.h"

#include <exception>

#include <napi.h>

namespace atelier {

// C++ results as the objects of native/face.ts, by copy.

/** An exception as a JS Error with code and hint: the one place where errors cross. */
Napi::Value to_js_error(Napi::Env env, const std::exception_ptr& error);

template <class T>
Napi::Value typed_array(Napi::Env env, const std::vector<T>& values) {
  auto result = Napi::TypedArrayOf<T>::New(env, values.size());
  std::copy(values.begin(), values.end(), result.Data());
  return result;
}

Napi::Value to_js(Napi::Env env, const DeviceInfo& info);
Napi::Value to_js(Napi::Env env, const EngineStats& stats);
Napi::Object to_js(Napi::Env env, const ModelFacts& facts);
Napi::Value to_js(Napi::Env env, const ModelInfo& info);
Napi::Value to_js(Napi::Env env, const AdapterInfo& info);
Napi::Value to_js(Napi::Env env, const std::vector<AdapterNorm>& norms);
Napi::Value to_js(Napi::Env env, const Generated& generated);
Napi::Value to_js(Napi::Env env, const Scored& scored);
Napi::Value to_js(Napi::Env env, const Stepped& stepped);
Napi::Value to_js(Napi::Env env, const ProgramValue& value);
Napi::Value to_js(Napi::Env env, const std::vector<float>& values);
Napi::Value to_js(Napi::Env env, int id);
Napi::Value to_js(Napi::Env env, std::monostate nothing);
Napi::Value progress_to_js(Napi::Env env, const std::vector<NewToken>& tokens, int finished);

}  // namespace atelier
