#include "addon/engine_host.h"

#include "core/error.h"

namespace atelier {

void EngineHost::run_task(Napi::Env env, Napi::Function, std::nullptr_t*, Task* task) {
  std::unique_ptr<Task> owned(task);
  if (env == nullptr) {
    return;  // the environment is going: nobody is left to hear of it
  }
  try {
    (*owned)(env);
  } catch (const Napi::Error& e) {
    // A listener that throws is JS's uncaught exception. An environment that ends takes no exception: then
    // nobody is left to hear of it.
    if (!e.IsEmpty()) {
      napi_throw(env, e.Value());
    }
  }
}

EngineHost::EngineHost(Napi::Env env, const EngineOptions& options)
    : ranked_(!options.ranks.empty()), engine_(std::make_unique<Engine>(options)) {
  to_js_ = ToJs::New(env, "atelier engine", 0, 1);
  to_js_.Unref(env);  // only pending work keeps the process alive
  worker_ = std::make_unique<Worker>();
  worker_->post({0, [this](const CancelFlag&) { engine_->begin_thread(); }, [] {}});
}

EngineHost::~EngineHost() {
  shut_down();
}

void EngineHost::shut_down() {
  if (!worker_) {
    return;
  }
  closed_ = true;
  worker_->close([this] { engine_.reset(); });
  worker_->join();
  worker_.reset();
  to_js_.Release();
}

void EngineHost::post_to_js(Task task) {
  auto* owned = new Task(std::move(task));
  if (to_js_.NonBlockingCall(owned) != napi_ok) {
    delete owned;
  }
}

void EngineHost::begin_pending(Napi::Env env) {
  if (pending_++ == 0) {
    to_js_.Ref(env);
  }
}

void EngineHost::end_pending(Napi::Env env) {
  if (--pending_ == 0) {
    to_js_.Unref(env);
  }
}

void EngineHost::settle(Task task) {
  post_to_js([this, task = std::move(task)](Napi::Env env) {
    end_pending(env);
    task(env);
  });
}

Napi::Promise EngineHost::submit(Napi::Env env, JobId job, Work work, bool of_all_ranks) {
  auto deferred = Napi::Promise::Deferred::New(env);
  auto reject = [deferred](std::exception_ptr error) -> Task {
    return [deferred, error](Napi::Env env) { deferred.Reject(to_js_error(env, error)); };
  };
  auto resolve = [deferred](Result result) -> Task {
    return [deferred, result = std::move(result)](Napi::Env env) {
      Napi::Value value;
      try {
        value = result(env);
      } catch (const Napi::Error& e) {
        deferred.Reject(e.Value());
        return;
      } catch (...) {
        deferred.Reject(to_js_error(env, std::current_exception()));
        return;
      }
      deferred.Resolve(value);
    };
  };
  auto run = [this, resolve, reject, work = std::move(work)](const CancelFlag& cancelled) {
    Task task;
    try {
      task = resolve(work(*engine_, cancelled));
    } catch (...) {
      task = reject(std::current_exception());
    }
    settle(std::move(task));
  };
  std::function<void()> dropped;
  if (!ranked_ || !of_all_ranks) {
    dropped = [this, reject] {
      settle(reject(
          std::make_exception_ptr(Error(ErrorCode::cancelled, "cancelled before it began"))));
    };
  }
  begin_pending(env);
  if (!worker_ || !worker_->post({job, std::move(run), dropped})) {
    settle(reject(std::make_exception_ptr(Error(ErrorCode::not_found, "the engine is closed"))));
  }
  return deferred.Promise();
}

void EngineHost::cancel(JobId job) {
  if (worker_) {
    worker_->cancel(job);
  }
}

size_t EngineHost::jobs() const {
  return worker_ ? worker_->jobs() : 0;
}

EngineStats EngineHost::stats() const {
  if (closed_) {
    throw Error(ErrorCode::not_found, "the engine is closed");
  }
  return engine_->stats();
}

Napi::Promise EngineHost::close(Napi::Env env) {
  auto deferred = Napi::Promise::Deferred::New(env);
  if (closed_) {
    deferred.Resolve(env.Undefined());
    return deferred.Promise();
  }
  closed_ = true;
  begin_pending(env);
  worker_->close([this, deferred] {
    engine_.reset();
    settle([deferred](Napi::Env env) { deferred.Resolve(env.Undefined()); });
  });
  return deferred.Promise();
}

}  // namespace atelier
