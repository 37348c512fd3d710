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

std::string architecture_of(const std::string& family, const std::string& where) {
  return find_family(family, where).architecture;
}

std::shared_ptr<const Model> make_model(const ModelConfig& config) {
  return std::make_shared<DenseDecoder>(config);
}

std::shared_ptr<const Model> make_model(const std::string& config_json, const std::string& where) {
  const Json json = parse_json(config_json, where, 16);
  if (!json.is_object()) {
    throw Error(ErrorCode::invalid_file, where + ": is not a JSON object");
  }
  const ConfigReader reader(json, where);
  const Family& family = find_family(reader.text("model_type", ""), where);
  reader.require("architectures", {Json::array({family.architecture})});
  return make_model(family.read(reader));
}

}  // namespace atelier
