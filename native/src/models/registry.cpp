#include "models/registry.h"

#include "core/error.h"
#include "core/text.h"
#include "models/families.h"

namespace atelier {
namespace {

struct Family {
  const char* model_type;
  /** Names of transformers' class; older files may have another. */
  std::vector<const char*> architectures;
  std::shared_ptr<const Model> (*make)(const ConfigReader& reader);
  /** The sequence classifier on the same layers; null: it is not run. */
  const char* classifier = nullptr;
};

const Family families[] = {
    {"bailing_hybrid",
     {"BailingHybridForCausalLM", "BailingMoeV3ForCausalLM"},
     make_bailing_hybrid},
    {"gemma3", {"Gemma3ForConditionalGeneration"}, make_gemma3_wrapped},
    {"gemma3_text", {"Gemma3ForCausalLM"}, make_gemma3},
    {"llama", {"LlamaForCausalLM"}, make_llama, "LlamaForSequenceClassification"},
    {"mistral", {"MistralForCausalLM"}, make_mistral},
    {"qwen2", {"Qwen2ForCausalLM"}, make_qwen2, "Qwen2ForSequenceClassification"},
    {"qwen3", {"Qwen3ForCausalLM"}, make_qwen3, "Qwen3ForSequenceClassification"},
    {"qwen3_5", {"Qwen3_5ForConditionalGeneration"}, make_qwen3_5},
    {"qwen3_5_moe", {"Qwen3_5MoeForConditionalGeneration"}, make_qwen3_5_moe},
    {"qwen3_5_moe_text", {"Qwen3_5MoeForCausalLM"}, make_qwen3_5_moe},
    {"qwen3_5_text", {"Qwen3_5ForCausalLM"}, make_qwen3_5},
    {"qwen3_moe", {"Qwen3MoeForCausalLM"}, make_qwen3_moe},
    {"qwen3_next", {"Qwen3NextForCausalLM"}, make_qwen3_next},
    {"smollm3", {"SmolLM3ForCausalLM"}, make_smollm3},
};

std::string known() {
  std::string out;
  for (const Family& f : families) {
    out += (out.empty() ? "" : ", ") + std::string(f.model_type);
  }
  return out;
}

const Family& find_family(const std::string& name, const std::string& where) {
  for (const Family& family : families) {
    if (name == family.model_type) {
      return family;
    }
  }
  throw Error(
      ErrorCode::unsupported_model,
      where + ": the family " + quoted(name) + " is not supported",
      "Supported families: " + known() + ".");
}

}  // namespace

std::shared_ptr<const Model> make_model(const std::string& config_json, const std::string& where) {
  const Json json = parse_json(config_json, where, 16);
  if (!json.is_object()) {
    throw Error(ErrorCode::invalid_file, where + ": is not a JSON object");
  }
  const ConfigReader reader(json, where);
  const Family& family = find_family(reader.text("model_type", ""), where);
  std::vector<Json> architectures;
  for (const char* name : family.architectures) {
    architectures.push_back(Json::array({name}));
  }
  if (family.classifier) {
    architectures.push_back(Json::array({family.classifier}));
  }
  reader.require("architectures", architectures);
  std::shared_ptr<const Model> model = family.make(reader);
  reader.require_known_keys();
  return model;
}

void require_family(const std::string& family, const std::string& where) {
  find_family(family, where);
}

std::string classifier_of(const std::string& family) {
  const char* name = find_family(family, "config.json").classifier;
  if (!name) {
    throw Error(
        ErrorCode::unsupported_model,
        "a reward model of the family " + quoted(family) + " is not supported");
  }
  return name;
}

}  // namespace atelier
