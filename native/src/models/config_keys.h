#pragma once

#include <string>

namespace atelier {

/** Whether a key of config.json is read here (config_reader, families). */
bool is_read_key(const std::string& key);

/** Whether it leaves the forward pass as it is: generation settings, names, versions, training-only values. */
bool is_harmless_key(const std::string& key);

}  // namespace atelier
