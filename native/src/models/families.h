#pragma once

#include "models/config_reader.h"
#include "models/model.h"

#include <memory>

namespace atelier {

// One function a family: its model from its config.json. Keys that it leaves unread are refused by the registry.

std::shared_ptr<const Model> make_bailing_hybrid(const ConfigReader& reader);
std::shared_ptr<const Model> make_gemma3(const ConfigReader& reader);
std::shared_ptr<const Model> make_gemma3_wrapped(const ConfigReader& reader);
std::shared_ptr<const Model> make_llama(const ConfigReader& reader);
std::shared_ptr<const Model> make_mistral(const ConfigReader& reader);
std::shared_ptr<const Model> make_qwen2(const ConfigReader& reader);
std::shared_ptr<const Model> make_qwen3(const ConfigReader& reader);
std::shared_ptr<const Model> make_qwen3_5(const ConfigReader& reader);
std::shared_ptr<const Model> make_qwen3_5_moe(const ConfigReader& reader);
std::shared_ptr<const Model> make_qwen3_moe(const ConfigReader& reader);
std::shared_ptr<const Model> make_qwen3_next(const ConfigReader& reader);
std::shared_ptr<const Model> make_smollm3(const ConfigReader& reader);

}  // namespace atelier
