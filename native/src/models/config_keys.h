#pragma once

#include <string>

namespace atelier {

/** Whether a key of config.json leaves the forward pass as it is: generation settings, names, versions, training-only values. */
bool is_harmless_key(const std::string& key);

}  // namespace atelier
