#pragma once

#include "models/config_reader.h"

#include <vector>

namespace atelier {

/**
 * text_config of the config.json of a model that sees pictures, with tie_word_embeddings from outside where it stands
 * there. `of_pictures`: keys that have nothing to say to the text model.
 */
Json wrapped_text(const ConfigReader& reader, const std::vector<const char*>& of_pictures);

}  // namespace atelier
