#include "addon/native_engine.h"

#include "addon/progress.h"
#include "addon/requests.h"
#include "core/error.h"

namespace atelier {
namespace {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = [] {
    std::vector<Verb> list;
    for (auto part : {model_verbs(), adapter_verbs(), training_verbs(), export_verbs()}) {
      list.insert(list.end(), part.begin(), part.end());
    }
    return list;
  }();
  return all;
}

void end_of_environment(void* host) {
  static_cast<EngineHost*>(host)->shut_down();
}

JobId job_of(const Napi::CallbackInfo& info) {
  return static_cast<JobId>(info[0].As<Napi::Number>().Int64Value());
}

Napi::Value rejected(Napi::Env env) {
  auto deferred = Napi::Promise::Deferred::New(env);
  deferred.Reject(to_js_error(env, std::current_exception()));
  return deferred.Promise();
}

struct Generation {
  int model;
  std::optional<int> adapter;
  GenerateRequest request;
};

}  // namespace

NativeEngine::NativeEngine(const Napi::CallbackInfo& info) : Napi::ObjectWrap<NativeEngine>(info) {
  auto env = info.Env();
  try {
    auto options = read_engine_options(Fields(info[0], "createEngine"));
    host_ = std::make_unique<EngineHost>(env, options);
  } catch (const std::exception&) {
    throw Napi::Error(env, to_js_error(env, std::current_exception()));
  }
  napi_add_env_cleanup_hook(env, end_of_environment, host_.get());
}

NativeEngine::~NativeEngine() {
  if (host_) {
    napi_remove_env_cleanup_hook(Env(), end_of_environment, host_.get());
  }
}

Napi::Value NativeEngine::submit(Info info, const Verb& verb) {
  try {
    return host_->submit(
        info.Env(), job_of(info), verb.prepare(Fields(info[1], verb.name)), verb.of_all_ranks);
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {  // no memory for the copies, too: nothing else may cross into JS
    return rejected(info.Env());
  }
}

Napi::Value NativeEngine::invoke(Info info) {
  return submit(info, *static_cast<const Verb*>(info.Data()));
}

Napi::Value NativeEngine::generate(Info info) {
  std::shared_ptr<Progress> progress;
  if (info.Length() > 2 && info[2].IsFunction()) {
    progress = std::make_shared<Progress>(*host_, info[2].As<Napi::Function>());
  }
  auto read = [](const Fields& f) {
    return Generation{read_id(f, "model"), read_adapter(f), read_generate(f)};
  };
  auto work = [progress](Engine& e, const Generation& r, const CancelFlag& cancelled) {
    OnProgress listener;
    if (progress) {
      listener = [progress](const std::vector<NewToken>& tokens, int finished) {
        progress->add(tokens, finished);
      };
    }
    return e.generate(r.model, r.adapter, r.request, listener, cancelled);
  };
  return submit(info, verb("generate", read, work));
}

Napi::Value NativeEngine::stats(Info info) {
  auto env = info.Env();
  try {
    auto stats = to_js(env, host_->stats()).As<Napi::Object>();
    stats.Set("jobs", static_cast<double>(host_->jobs()));
    auto deferred = Napi::Promise::Deferred::New(env);
    deferred.Resolve(stats);
    return deferred.Promise();
  } catch (const Error&) {
    return rejected(env);
  }
}

Napi::Value NativeEngine::cancel(Info info) {
  host_->cancel(job_of(info));
  return info.Env().Undefined();
}

Napi::Value NativeEngine::close(Info info) {
  return host_->close(info.Env());
}

Napi::Value NativeEngine::shut_down(Info info) {
  host_->shut_down();
  return info.Env().Undefined();
}

Napi::Function NativeEngine::define(Napi::Env env) {
  std::vector<PropertyDescriptor> methods{
      InstanceMethod<&NativeEngine::generate>("generate"),
      InstanceMethod<&NativeEngine::stats>("stats"),
      InstanceMethod<&NativeEngine::cancel>("cancel"),
      InstanceMethod<&NativeEngine::close>("close"),
      InstanceMethod<&NativeEngine::shut_down>("shutDown")};
  for (const Verb& verb : verbs()) {
    methods.push_back(
        InstanceMethod(verb.name, &NativeEngine::invoke, napi_default, const_cast<Verb*>(&verb)));
  }
  return DefineClass(env, "NativeEngine", methods);
}

}  // namespace atelier
