#include "addon/native_engine.h"

#include "addon/requests.h"
#include "core/error.h"

#include <mutex>

namespace atelier {
namespace {

using None = std::monostate;

/** Tokens on their way to JS: at most one message is under way, it takes all that came meanwhile. */
class Progress : public std::enable_shared_from_this<Progress> {
 public:
  Progress(EngineHost& host, Napi::Function listener)
      : host_(host), listener_(new Napi::FunctionReference(Napi::Persistent(listener))) {}

  // The last owner may be the engine's thread; a JS reference may only be let go on JS's.
  ~Progress() {
    host_.post_to_js([listener = listener_](Napi::Env) { delete listener; });
  }

  void add(const std::vector<NewToken>& tokens, int finished) {
    std::lock_guard lock(mutex_);
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    finished_ = finished;
    if (!under_way_) {
      under_way_ = true;
      host_.post_to_js([self = shared_from_this()](Napi::Env env) { self->deliver(env); });
    }
  }

 private:
  void deliver(Napi::Env env) {
    std::vector<NewToken> tokens;
    int finished;
    {
      std::lock_guard lock(mutex_);
      tokens.swap(tokens_);
      finished = finished_;
      under_way_ = false;
    }
    listener_->Call({progress_to_js(env, tokens, finished)});
  }

  EngineHost& host_;
  Napi::FunctionReference* listener_;
  std::mutex mutex_;
  std::vector<NewToken> tokens_;
  int finished_ = 0;
  bool under_way_ = false;
};

} // namespace

template <class Read, class Work>
Napi::Value NativeEngine::call(Info info, const char* verb, Read read, Work work) {
  auto env = info.Env();
  try {
    auto job = static_cast<JobId>(info[0].As<Napi::Number>().Int64Value());
    auto request = read(Fields(info[1], verb));
    return host_->submit(
        env,
        job,
        [request, work](Engine& engine, const CancelFlag& cancelled, const Napi::Promise::Deferred& deferred)
            -> EngineHost::Task {
          using Result = decltype(work(engine, request, cancelled));
          auto result = std::make_shared<Result>(work(engine, request, cancelled));
          return [deferred, result](Napi::Env env) { deferred.Resolve(to_js(env, *result)); };
        });
  } catch (const Error&) {
    auto deferred = Napi::Promise::Deferred::New(env);
    deferred.Reject(to_js_error(env, std::current_exception()));
    return deferred.Promise();
  }
}

NativeEngine::NativeEngine(const Napi::CallbackInfo& info) : Napi::ObjectWrap<NativeEngine>(info) {
  auto env = info.Env();
  try {
    host_ = std::make_unique<EngineHost>(env, read_engine_options(Fields(info[0], "createEngine")), [this](bool on) {
      on ? Ref() : Unref();
    });
  } catch (const std::exception&) {
    throw Napi::Error(env, to_js_error(env, std::current_exception()));
  }
  napi_add_env_cleanup_hook(env, [](void* host) { static_cast<EngineHost*>(host)->shut_down(); }, host_.get());
}

NativeEngine::~NativeEngine() {
  if (host_) {
    napi_remove_env_cleanup_hook(
        Env(), [](void* host) { static_cast<EngineHost*>(host)->shut_down(); }, host_.get());
  }
}

Napi::Value NativeEngine::stats(Info info) {
  auto env = info.Env();
  auto deferred = Napi::Promise::Deferred::New(env);
  try {
    auto stats = to_js(env, host_->stats()).As<Napi::Object>();
    stats.Set("jobs", static_cast<double>(host_->jobs()));
    deferred.Resolve(stats);
  } catch (const Error&) {
    deferred.Reject(to_js_error(env, std::current_exception()));
  }
  return deferred.Promise();
}

Napi::Value NativeEngine::clear_cache(Info info) {
  return call(
      info, "clearCache", [](const Fields&) { return None(); },
      [](Engine& e, None, const CancelFlag&) {
        e.clear_cache();
        return None();
      });
}

Napi::Value NativeEngine::reset_peak(Info info) {
  return call(
      info, "resetPeak", [](const Fields&) { return None(); },
      [](Engine& e, None, const CancelFlag&) {
        e.reset_peak();
        return None();
      });
}

namespace {

struct ModelRequest {
  int model = 0;
  std::string path, config, dtype;
  uint64_t seed = 0;
};

struct AdapterRequest {
  int model = 0, adapter = 0;
  std::string path;
  LoraConfig lora;
  uint64_t seed = 0;
};

struct OptimizerRequest {
  int optimizer = 0;
  std::optional<int> adapter, model;
  AdamWSpec spec;
  std::string file;
};

template <class Request>
struct OnModel {
  int model;
  std::optional<int> adapter;
  Rows rows;
  Request request;
};

template <class Request>
OnModel<Request> on_model(const Fields& f, Request request) {
  return {read_id(f, "model"), read_adapter(f), {}, std::move(request)};
}

} // namespace

Napi::Value NativeEngine::load_model(Info info) {
  return call(
      info, "loadModel",
      [](const Fields& f) { return ModelRequest{0, f.text("path"), {}, f.text_or_empty("dtype"), 0}; },
      [](Engine& e, const ModelRequest& r, const CancelFlag&) { return e.load_model(r.path, r.dtype); });
}

Napi::Value NativeEngine::init_model(Info info) {
  return call(
      info, "initModel",
      [](const Fields& f) { return ModelRequest{0, {}, f.text("config"), f.text_or_empty("dtype"), f.seed("seed")}; },
      [](Engine& e, const ModelRequest& r, const CancelFlag&) { return e.init_model(r.config, r.seed, r.dtype); });
}

Napi::Value NativeEngine::save_model(Info info) {
  return call(
      info, "saveModel",
      [](const Fields& f) { return ModelRequest{read_id(f, "model"), f.text("dir"), {}, f.text_or_empty("dtype"), 0}; },
      [](Engine& e, const ModelRequest& r, const CancelFlag&) {
        e.save_model(r.model, r.path, r.dtype);
        return None();
      });
}

Napi::Value NativeEngine::unload_model(Info info) {
  return call(
      info, "unloadModel", [](const Fields& f) { return read_id(f, "model"); },
      [](Engine& e, int model, const CancelFlag&) {
        e.unload_model(model);
        return None();
      });
}

Napi::Value NativeEngine::create_adapter(Info info) {
  return call(
      info, "createAdapter",
      [](const Fields& f) {
        auto spec = f.object("spec");
        return AdapterRequest{read_id(f, "model"), 0, {}, read_lora(spec), spec.seed("seed")};
      },
      [](Engine& e, const AdapterRequest& r, const CancelFlag&) { return e.create_adapter(r.model, r.lora, r.seed); });
}

Napi::Value NativeEngine::load_adapter(Info info) {
  return call(
      info, "loadAdapter",
      [](const Fields& f) { return AdapterRequest{read_id(f, "model"), 0, f.text("dir"), {}, 0}; },
      [](Engine& e, const AdapterRequest& r, const CancelFlag&) { return e.load_adapter(r.model, r.path); });
}

Napi::Value NativeEngine::save_adapter(Info info) {
  return call(
      info, "saveAdapter",
      [](const Fields& f) { return AdapterRequest{0, read_id(f, "adapter"), f.text("file"), {}, 0}; },
      [](Engine& e, const AdapterRequest& r, const CancelFlag&) {
        e.save_adapter(r.adapter, r.path);
        return None();
      });
}

Napi::Value NativeEngine::adapter_norms(Info info) {
  return call(
      info, "adapterNorms", [](const Fields& f) { return read_id(f, "adapter"); },
      [](Engine& e, int adapter, const CancelFlag&) { return e.adapter_norms(adapter); });
}

Napi::Value NativeEngine::unload_adapter(Info info) {
  return call(
      info, "unloadAdapter", [](const Fields& f) { return read_id(f, "adapter"); },
      [](Engine& e, int adapter, const CancelFlag&) {
        e.unload_adapter(adapter);
        return None();
      });
}

Napi::Value NativeEngine::generate(Info info) {
  std::shared_ptr<Progress> progress;
  if (info.Length() > 2 && info[2].IsFunction()) {
    progress = std::make_shared<Progress>(*host_, info[2].As<Napi::Function>());
  }
  return call(
      info, "generate", [](const Fields& f) { return on_model(f, read_generate(f)); },
      [progress](Engine& e, const OnModel<GenerateRequest>& r, const CancelFlag& cancelled) {
        OnProgress listener;
        if (progress) {
          listener = [&progress](const std::vector<NewToken>& tokens, int done) { progress->add(tokens, done); };
        }
        return e.generate(r.model, r.adapter, r.request, listener, cancelled);
      });
}

Napi::Value NativeEngine::score(Info info) {
  return call(
      info, "score",
      [](const Fields& f) {
        auto r = on_model(f, read_score(f));
        r.rows = read_rows(f);
        return r;
      },
      [](Engine& e, const OnModel<ScoreOptions>& r, const CancelFlag& cancelled) {
        return e.score(r.model, r.adapter, r.rows, r.request, cancelled);
      });
}

Napi::Value NativeEngine::logits(Info info) {
  return call(
      info, "logits",
      [](const Fields& f) {
        auto positions = f.text("positions");
        if (positions != "all" && positions != "last") {
          throw Error(ErrorCode::invalid_argument, f.path("positions") + " must be 'all' or 'last'");
        }
        auto r = on_model(f, positions == "last");
        r.rows = read_rows(f);
        return r;
      },
      [](Engine& e, const OnModel<bool>& r, const CancelFlag&) {
        return e.logits(r.model, r.adapter, r.rows, r.request);
      });
}

Napi::Value NativeEngine::create_optimizer(Info info) {
  return call(
      info, "createOptimizer",
      [](const Fields& f) {
        auto what = f.object("trainable");
        auto kind = what.text("kind");
        OptimizerRequest r;
        r.spec = read_adamw(f.object("spec"));
        if (kind == "adapter") {
          r.adapter = read_id(what, "adapter");
        } else if (kind == "full") {
          r.model = read_id(what, "model");
        } else {
          throw Error(ErrorCode::invalid_argument, what.path("kind") + " must be 'adapter' or 'full'");
        }
        return r;
      },
      [](Engine& e, const OptimizerRequest& r, const CancelFlag&) {
        return e.create_optimizer(r.adapter, r.model, r.spec);
      });
}

Napi::Value NativeEngine::save_optimizer(Info info) {
  return call(
      info, "saveOptimizer",
      [](const Fields& f) { return OptimizerRequest{read_id(f, "optimizer"), {}, {}, {}, f.text("file")}; },
      [](Engine& e, const OptimizerRequest& r, const CancelFlag&) {
        e.save_optimizer(r.optimizer, r.file);
        return None();
      });
}

Napi::Value NativeEngine::load_optimizer(Info info) {
  return call(
      info, "loadOptimizer",
      [](const Fields& f) { return OptimizerRequest{read_id(f, "optimizer"), {}, {}, {}, f.text("file")}; },
      [](Engine& e, const OptimizerRequest& r, const CancelFlag&) {
        e.load_optimizer(r.optimizer, r.file);
        return None();
      });
}

Napi::Value NativeEngine::free_optimizer(Info info) {
  return call(
      info, "freeOptimizer", [](const Fields& f) { return read_id(f, "optimizer"); },
      [](Engine& e, int optimizer, const CancelFlag&) {
        e.free_optimizer(optimizer);
        return None();
      });
}

Napi::Value NativeEngine::step(Info info) {
  return call(
      info, "step", [](const Fields& f) { return std::pair(read_id(f, "optimizer"), read_step(f)); },
      [](Engine& e, const std::pair<int, StepRequest>& r, const CancelFlag& cancelled) {
        return e.step(r.first, r.second, cancelled);
      });
}

Napi::Value NativeEngine::evaluate_program(Info info) {
  return call(
      info, "evaluateProgram", [](const Fields& f) { return read_program(f); },
      [](Engine& e, const ProgramRequest& r, const CancelFlag&) { return e.evaluate_program(r); });
}

Napi::Value NativeEngine::cancel(Info info) {
  host_->cancel(static_cast<JobId>(info[0].As<Napi::Number>().Int64Value()));
  return info.Env().Undefined();
}

Napi::Value NativeEngine::close(Info info) {
  return host_->close(info.Env());
}

Napi::Function NativeEngine::define(Napi::Env env) {
  return DefineClass(
      env,
      "NativeEngine",
      {
          InstanceMethod<&NativeEngine::stats>("stats"),
          InstanceMethod<&NativeEngine::clear_cache>("clearCache"),
          InstanceMethod<&NativeEngine::reset_peak>("resetPeak"),
          InstanceMethod<&NativeEngine::load_model>("loadModel"),
          InstanceMethod<&NativeEngine::init_model>("initModel"),
          InstanceMethod<&NativeEngine::save_model>("saveModel"),
          InstanceMethod<&NativeEngine::unload_model>("unloadModel"),
          InstanceMethod<&NativeEngine::create_adapter>("createAdapter"),
          InstanceMethod<&NativeEngine::load_adapter>("loadAdapter"),
          InstanceMethod<&NativeEngine::save_adapter>("saveAdapter"),
          InstanceMethod<&NativeEngine::adapter_norms>("adapterNorms"),
          InstanceMethod<&NativeEngine::unload_adapter>("unloadAdapter"),
          InstanceMethod<&NativeEngine::generate>("generate"),
          InstanceMethod<&NativeEngine::score>("score"),
          InstanceMethod<&NativeEngine::logits>("logits"),
          InstanceMethod<&NativeEngine::create_optimizer>("createOptimizer"),
          InstanceMethod<&NativeEngine::save_optimizer>("saveOptimizer"),
          InstanceMethod<&NativeEngine::load_optimizer>("loadOptimizer"),
          InstanceMethod<&NativeEngine::free_optimizer>("freeOptimizer"),
          InstanceMethod<&NativeEngine::step>("step"),
          InstanceMethod<&NativeEngine::evaluate_program>("evaluateProgram"),
          InstanceMethod<&NativeEngine::cancel>("cancel"),
          InstanceMethod<&NativeEngine::close>("close"),
      });
}

} // namespace atelier
