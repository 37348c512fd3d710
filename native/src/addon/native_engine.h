#pragma once

#include "addon/engine_host.h"
#include "addon/fields.h"

#include <napi.h>

namespace atelier {

/** The class that native/index.ts wraps: one method a verb of the face, each `(job, request[, onProgress])`. */
class NativeEngine : public Napi::ObjectWrap<NativeEngine> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit NativeEngine(const Napi::CallbackInfo& info);
  ~NativeEngine() override;

 private:
  using Info = const Napi::CallbackInfo&;

  /** Reads the request with `read`, runs `work` on the engine's thread, resolves with its result. */
  template <class Read, class Work>
  Napi::Value call(Info info, const char* verb, Read read, Work work);

  Napi::Value stats(Info info);
  Napi::Value clear_cache(Info info);
  Napi::Value reset_peak(Info info);
  Napi::Value load_model(Info info);
  Napi::Value init_model(Info info);
  Napi::Value save_model(Info info);
  Napi::Value unload_model(Info info);
  Napi::Value create_adapter(Info info);
  Napi::Value load_adapter(Info info);
  Napi::Value save_adapter(Info info);
  Napi::Value adapter_norms(Info info);
  Napi::Value unload_adapter(Info info);
  Napi::Value generate(Info info);
  Napi::Value score(Info info);
  Napi::Value logits(Info info);
  Napi::Value create_optimizer(Info info);
  Napi::Value save_optimizer(Info info);
  Napi::Value load_optimizer(Info info);
  Napi::Value free_optimizer(Info info);
  Napi::Value step(Info info);
  Napi::Value evaluate_program(Info info);
  Napi::Value cancel(Info info);
  Napi::Value close(Info info);

  std::unique_ptr<EngineHost> host_;
};

} // namespace atelier
