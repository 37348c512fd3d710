#include "addon/results.h"

#include "core/error.h"

#include <new>

namespace atelier {
namespace {

Error describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::out_of_memory, "the machine has no memory left for this request");
  } catch (const std::exception& e) {
    std::string what = e.what();
    bool memory = what.find("[malloc]") != std::string::npos ||
                  what.find("out of memory") != std::string::npos ||
                  what.find("Unable to allocate") != std::string::npos;
    return Error(memory ? ErrorCode::out_of_memory : ErrorCode::internal, what);
  } catch (...) {
    return Error(ErrorCode::internal, "an unknown error in the engine");
  }
}

const char* finish_name(Finish finish) {
  switch (finish) {
    case Finish::stop:
      return "stop";
    case Finish::length:
      return "length";
    case Finish::cancelled:
      return "cancelled";
  }
  return "cancelled";
}

double number(uint64_t value) {
  return static_cast<double>(value);
}

Napi::Object named_numbers(Napi::Env env, const std::map<std::string, double>& values) {
  auto result = Napi::Object::New(env);
  for (const auto& [name, value] : values) {
    result.Set(name, value);
  }
  return result;
}

Napi::Array strings(Napi::Env env, const std::vector<std::string>& values) {
  auto out = Napi::Array::New(env, values.size());
  for (size_t i = 0; i < values.size(); i++) {
    out[i] = values[i];
  }
  return out;
}

}  // namespace

Napi::Value to_js_error(Napi::Env env, const std::exception_ptr& error) {
  auto described = describe(error);
  auto result = Napi::Error::New(env, described.what()).Value();
  result.Set("code", to_string(described.code));
  if (!described.hint.empty()) {
    result.Set("hint", described.hint);
  }
  return result;
}

Napi::Value to_js(Napi::Env env, const DeviceInfo& info) {
  auto o = Napi::Object::New(env);
  o.Set("device", info.device);
  o.Set("available", info.available);
  o.Set("description", info.description);
  o.Set("memoryBytes", number(info.memory_bytes));
  auto units = Napi::Array::New(env, info.units.size());
  for (size_t i = 0; i < info.units.size(); i++) {
    auto unit = Napi::Object::New(env);
    unit.Set("description", info.units[i].description);
    unit.Set("memoryBytes", number(info.units[i].memory_bytes));
    units[i] = unit;
  }
  o.Set("units", units);
  return o;
}

Napi::Value to_js(Napi::Env env, const EngineStats& stats) {
  auto o = Napi::Object::New(env);
  o.Set("device", stats.device);
  o.Set("activeBytes", number(stats.active_bytes));
  o.Set("peakBytes", number(stats.peak_bytes));
  o.Set("cacheBytes", number(stats.cache_bytes));
  o.Set("memoryLimitBytes", number(stats.memory_limit_bytes));
  o.Set("models", number(stats.models));
  o.Set("adapters", number(stats.adapters));
  return o;
}

Napi::Object to_js(Napi::Env env, const ModelFacts& facts) {
  const ModelConfig& config = facts.config;
  auto o = Napi::Object::New(env);
  o.Set("family", config.family);
  o.Set("parameters", static_cast<double>(facts.parameters));
  o.Set("vocabularySize", config.vocabulary);
  o.Set("hiddenSize", config.hidden);
  if (facts.quantisation) {
    auto form = Napi::Object::New(env);
    form.Set("bits", facts.quantisation->bits);
    form.Set("groupSize", facts.quantisation->group);
    o.Set("quantization", form);
  }
  o.Set("layers", config.layers);
  o.Set("contextLength", config.context);
  o.Set("tied", config.tied);
  o.Set("ggufRefusal", env.Null());
  if (facts.gguf_refusal) {
    auto refusal = Napi::Object::New(env);
    refusal.Set("message", facts.gguf_refusal->what());
    refusal.Set("hint", facts.gguf_refusal->hint);
    o.Set("ggufRefusal", refusal);
  }
  o.Set("leftOut", strings(env, facts.left_out));
  o.Set("mixture", facts.mixture);
  o.Set("softmaxRouters", facts.softmax_routers);
  o.Set("packs", facts.packs);
  o.Set("scalarHead", config.scalar_head);
  return o;
}

Napi::Value to_js(Napi::Env env, const ModelInfo& info) {
  auto o = to_js(env, static_cast<const ModelFacts&>(info));
  o.Set("id", info.id);
  o.Set("weightBytes", number(info.weight_bytes));
  o.Set("dtype", info.dtype);
  o.Set("linearModules", strings(env, info.linear_modules));
  return o;
}

Napi::Value to_js(Napi::Env env, const AdapterInfo& info) {
  auto o = Napi::Object::New(env);
  o.Set("id", info.id);
  o.Set("model", info.model);
  o.Set("parameters", static_cast<double>(info.parameters));
  auto modules = Napi::Array::New(env);
  for (const auto& [name, site] : info.sites) {
    auto module = Napi::Object::New(env);
    module.Set("name", name);
    module.Set("rank", site.rank);
    module.Set("dora", site.dora);
    module.Set("scale", site.scale);
    modules[modules.Length()] = module;
  }
  o.Set("modules", modules);
  o.Set("scalarHead", info.scalar_head);
  auto saved = Napi::Array::New(env, info.saved.size());
  for (size_t i = 0; i < info.saved.size(); i++) {
    saved[i] = info.saved[i];
  }
  o.Set("saved", saved);
  return o;
}

Napi::Value to_js(Napi::Env env, const std::vector<AdapterNorm>& norms) {
  auto result = Napi::Array::New(env, norms.size());
  for (size_t i = 0; i < norms.size(); i++) {
    auto o = Napi::Object::New(env);
    o.Set("name", norms[i].name);
    o.Set("maxA", norms[i].max_a);
    o.Set("maxB", norms[i].max_b);
    result[i] = o;
  }
  return result;
}

Napi::Value to_js(Napi::Env env, const Generated& generated) {
  auto rows = Napi::Array::New(env, generated.rows.size());
  for (size_t i = 0; i < generated.rows.size(); i++) {
    const auto& row = generated.rows[i];
    auto o = Napi::Object::New(env);
    o.Set("prompt", row.prompt);
    o.Set("ids", typed_array(env, row.ids));
    o.Set("logprob", typed_array(env, row.logprob));
    o.Set("rawLogprob", typed_array(env, row.raw_logprob));
    o.Set("finish", finish_name(row.finish));
    rows[i] = o;
  }
  auto o = Napi::Object::New(env);
  o.Set("rows", rows);
  o.Set("seconds", generated.seconds);
  o.Set("tokens", static_cast<double>(generated.tokens));
  o.Set("heldBytes", static_cast<double>(generated.held_bytes));
  return o;
}

Napi::Value to_js(Napi::Env env, const Scored& scored) {
  auto o = Napi::Object::New(env);
  o.Set("seconds", scored.seconds);
  o.Set("logp", typed_array(env, std::vector<float>()));
  for (const auto& [name, values] : scored.scores) {
    o.Set(name, typed_array(env, values));
  }
  return o;
}

Napi::Value to_js(Napi::Env env, const Stepped& stepped) {
  auto o = Napi::Object::New(env);
  o.Set("loss", stepped.result.loss);
  o.Set("metrics", named_numbers(env, stepped.result.metrics));
  o.Set("gradNorm", stepped.result.grad_norm);
  o.Set("updated", stepped.result.updated);
  o.Set("seconds", stepped.seconds);
  o.Set("tokens", static_cast<double>(stepped.result.tokens));
  o.Set("peakBytes", number(stepped.peak_bytes));
  o.Set("gradientPeakBytes", number(stepped.result.gradient_peak_bytes));
  return o;
}

Napi::Value to_js(Napi::Env env, const ProgramValue& value) {
  auto gradients = Napi::Object::New(env);
  for (const auto& [name, values] : value.gradients) {
    gradients.Set(name, typed_array(env, values));
  }
  auto o = Napi::Object::New(env);
  o.Set("loss", value.loss);
  o.Set("metrics", named_numbers(env, value.metrics));
  o.Set("gradients", gradients);
  return o;
}

Napi::Value to_js(Napi::Env env, const std::vector<float>& values) {
  return typed_array(env, values);
}

Napi::Value to_js(Napi::Env env, int id) {
  return Napi::Number::New(env, id);
}

Napi::Value to_js(Napi::Env env, std::monostate nothing) {
  return env.Undefined();
}

Napi::Value progress_to_js(Napi::Env env, const std::vector<NewToken>& tokens, int finished) {
  auto row = Napi::Int32Array::New(env, tokens.size());
  auto id = Napi::Int32Array::New(env, tokens.size());
  for (size_t i = 0; i < tokens.size(); i++) {
    row[i] = tokens[i].row;
    id[i] = tokens[i].id;
  }
  auto o = Napi::Object::New(env);
  o.Set("row", row);
  o.Set("id", id);
  o.Set("finished", finished);
  return o;
}

}  // namespace atelier
