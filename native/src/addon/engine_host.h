#pragma once

#include "addon/results.h"
#include "engine/worker.h"

#include <functional>
#include <memory>

#include <napi.h>

namespace atelier {

/**
 * One engine and its thread, seen from the JS thread: work goes over as jobs, results come back as settled
 * promises. Everything but the work itself runs on the JS thread.
 */
class EngineHost {
 public:
  using Task = std::function<void(Napi::Env)>;
  /** Makes a result's JS value, on the JS thread. */
  using Result = std::function<Napi::Value(Napi::Env)>;
  using Work = std::function<Result(Engine&, const CancelFlag&)>;

  /** Its JS owner stays referenced until close() has resolved. Throws what Engine's constructor throws. */
  EngineHost(Napi::Env env, const EngineOptions& options);
  /** Cancels, waits for the running job to notice, ends the thread. */
  ~EngineHost();

  /**
   * `work` runs on the engine's thread; the promise resolves with its result, or rejects with what threw. Work that all
   * ranks do together begins on this one too, even where it was cancelled before: the others wait for it.
   */
  Napi::Promise submit(Napi::Env env, JobId job, Work work, bool of_all_ranks = false);
  void cancel(JobId job);
  size_t jobs() const;
  /** At once, beside a running job. */
  EngineStats stats() const;
  /** Runs a task on the JS thread; from any thread. */
  void post_to_js(Task task);
  /** Resolves when all is freed and the thread is about to end. */
  Napi::Promise close(Napi::Env env);
  /** close() for an environment or process that ends: on return nothing computes any more. */
  void shut_down();

 private:
  static void run_task(Napi::Env env, Napi::Function, std::nullptr_t*, Task* task);
  using ToJs = Napi::TypedThreadSafeFunction<std::nullptr_t, Task, run_task>;

  void begin_pending(Napi::Env env);
  void end_pending(Napi::Env env);
  void settle(Task task);

  ToJs to_js_;
  int pending_ = 0;
  bool closed_ = false;
  /** One of several ranks. */
  bool ranked_;
  std::unique_ptr<Engine> engine_;  // used and freed on the worker's thread
  std::unique_ptr<Worker> worker_;
};

}  // namespace atelier
