#pragma once

#include "io/gguf.h"
#include "io/safetensors.h"

#include <napi.h>

namespace atelier {

// Headers of weight files as the objects of native/face.ts.

Napi::Value to_js(Napi::Env env, const SafetensorsHeader& header);
Napi::Value to_js(Napi::Env env, const GgufHeader& header);

}  // namespace atelier
