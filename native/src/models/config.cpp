#include "models/config.h"

#include "io/json.h"

namespace atelier {

std::string config_json(const ModelConfig& config, const std::string& dtype) {
  Json json = Json::parse(config.json);
  json.erase("torch_dtype");
  json["dtype"] = dtype;
  if (json.contains("text_config")) {
    json["text_config"].erase("torch_dtype");
    json["text_config"]["dtype"] = dtype;
  }
  return json.dump(2) + "\n";
}

}  // namespace atelier
