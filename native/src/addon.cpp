// The Node door: what native/index.ts finds in atelier.node.
#include "addon/fields.h"
#include "addon/files.h"
#include "addon/native_engine.h"

#include <mlx/version.h>
#include <napi.h>

namespace atelier {
namespace {

/** Runs `body`; an exception becomes a JS Error with code and hint. */
template <class Body>
Napi::Value guarded(const Napi::CallbackInfo& info, Body body) {
  try {
    return body(info.Env());
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    throw Napi::Error(info.Env(), to_js_error(info.Env(), std::current_exception()));
  }
}

Napi::Value list_devices(const Napi::CallbackInfo& info) {
  return guarded(info, [](Napi::Env env) -> Napi::Value {
    auto list = Napi::Array::New(env);
    for (const auto& device : devices()) {
      list[list.Length()] = to_js(env, device);
    }
    return list;
  });
}

Napi::Value safetensors_header(const Napi::CallbackInfo& info) {
  return guarded(info, [&](Napi::Env env) {
    return to_js(
        env, read_safetensors_header(Fields(info[0], "readSafetensorsHeader").text("file")));
  });
}

Napi::Value gguf(const Napi::CallbackInfo& info) {
  return guarded(info, [&](Napi::Env env) {
    return to_js(env, read_gguf_header(Fields(info[0], "readGguf").text("file")));
  });
}

Napi::Value check(const Napi::CallbackInfo& info) {
  return guarded(info, [&](Napi::Env env) {
    auto checkpoint = open_checkpoint(Fields(info[0], "checkModel").text("path"));
    ModelFacts facts = facts_of(*checkpoint->model());
    facts.quantisation = commonest(checkpoint->quantised());
    facts.left_out = checkpoint->left_out();
    return to_js(env, facts);
  });
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("mlxVersion", mx::version());
  exports.Set("devices", Napi::Function::New(env, list_devices));
  exports.Set("readSafetensorsHeader", Napi::Function::New(env, safetensors_header));
  exports.Set("checkModel", Napi::Function::New(env, check));
  exports.Set("readGguf", Napi::Function::New(env, gguf));
  exports.Set("NativeEngine", NativeEngine::define(env));
  return exports;
}

}  // namespace
}  // namespace atelier

static Napi::Object init(Napi::Env env, Napi::Object exports) {
  return atelier::init(env, exports);
}

NODE_API_MODULE(NODE_GYP_MODULE_NAME, init)
