#pragma once

#include "models/model.h"

#include <memory>
#include <string>

namespace atelier {

/**
 * The model of a config.json's text, either form (rope_parameters, or rope_theta and rope_scaling).
 * Throws unsupported_model where the family or one of its features is not run, invalid_file where a value is
 * missing or senseless; `where` names the file in messages.
 */
std::shared_ptr<const Model> make_model(const std::string& config_json, const std::string& where);

/** Throws unsupported_model where models of a family are not run; `where` names the file in messages. */
void require_family(const std::string& family, const std::string& where);

/** transformers' class of a sequence classifier of a family. Throws unsupported_model where it is not run. */
std::string classifier_of(const std::string& family);

}  // namespace atelier
