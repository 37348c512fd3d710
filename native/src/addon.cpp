#include <mlx/version.h>
#include <napi.h>

static Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("mlxVersion", Napi::String::New(env, mlx::core::version()));
  return exports;
}

NODE_API_MODULE(NODE_GYP_MODULE_NAME, init)
