#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "addon/engine_host.h"
#include "addon/fields.h"

namespace atelier {

/** One verb of native/face.ts: reads its request on the JS thread, gives the work for the engine's. */
struct Verb {
  const char* name;
  std::function<EngineHost::Work(const Fields&)> prepare;
  /** All ranks do it together, or none. */
  bool of_all_ranks = false;
};

/** Work that resolves with what `body(engine, cancelled)` returns; std::monostate is undefined. */
template <class Body>
EngineHost::Work resolving(Body body) {
  return
      [body = std::move(body)](Engine& engine, const CancelFlag& cancelled) -> EngineHost::Result {
        auto result = std::make_shared<decltype(body(engine, cancelled))>(body(engine, cancelled));
        return [result](Napi::Env env) { return to_js(env, *result); };
      };
}

/** A verb made of `read(fields)` and `work(engine, request, cancelled)`. */
template <class Read, class Work>
Verb verb(const char* name, Read read, Work work, bool of_all_ranks = false) {
  return {
      name,
      [read, work](const Fields& fields) {
        return resolving([request = read(fields), work](Engine& e, const CancelFlag& c) {
          if constexpr (std::is_void_v<decltype(work(e, request, c))>) {
            work(e, request, c);
            return std::monostate();
          } else {
            return work(e, request, c);
          }
        });
      },
      of_all_ranks};
}

std::vector<Verb> model_verbs();
std::vector<Verb> adapter_verbs();
std::vector<Verb> training_verbs();
std::vector<Verb> export_verbs();

}  // namespace atelier
