#include "models/registry.h"

#include "core/error.h"
#include "core/text.h"
#include "models/dense.h"
#include "models/families.h"

namespace atelier {
namespace {

struct Family {
  const char* model_type;
  const char* architecture;
  ModelConfig (*read)(const ConfigReader& reader);
};

const Family families[] = {
    {"llama", "LlamaForCausalLM", read_llama},
    {"qwen3", "Qwen3ForCausalLM", read_qwen3},
};

std::string known() {
  std::string out;
  for (const Family& f : families) {
    out += (out.empty() ? "" : ", ") + std::string(f.model_type);
  }
  return out;
}

}  // namespace

std::shared_ptr<const Model> make_model(const ModelConfig& config) {
  return std::make_shared<DenseDecoder>(config);
}

std::shared_ptr<const Model> make_model(const std::string& config_json, const std::string& where) {
  const Json json = parse_json(config_json, where, 16);
  if (!json.is_object()) {
    throw Error(ErrorCode::invalid_file, where + ": is not a JSON object");
  }
  const ConfigReader reader(json, where);
  const std::string type = reader.text("model_type", "");
  for (const Family& family : families) {
    if (type == family.model_type) {
      reader.require("architectures", {Json::array({family.architecture})});
      return make_model(family.read(reader));
    }
  }
  throw Error(
      ErrorCode::unsupported_model,
      where + ": model_type " + quoted(type) + " is not supported",
      "Supported families: " + known() + ".");
}

}  // namespace atelier
