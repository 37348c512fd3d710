#pragma once

#include <napi.h>

#include "addon/engine_host.h"
#include "addon/verb.h"

namespace atelier {

/** The class that native/engine.ts wraps: a method for each verb, `(job, request[, onProgress])`. */
class NativeEngine : public Napi::ObjectWrap<NativeEngine> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit NativeEngine(const Napi::CallbackInfo& info);
  ~NativeEngine() override;

 private:
  using Info = const Napi::CallbackInfo&;

  /** Runs the Verb that the method's data points to. */
  Napi::Value invoke(Info info);
  Napi::Value generate(Info info);
  Napi::Value stats(Info info);
  Napi::Value cancel(Info info);
  Napi::Value close(Info info);
  Napi::Value shut_down(Info info);

  Napi::Value submit(Info info, const Verb& verb);

  std::unique_ptr<EngineHost> host_;
};

}  // namespace atelier
