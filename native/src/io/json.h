#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace atelier {

/** Objects keep the order of their text. */
using Json = nlohmann::ordered_json;

/**
 * Strict JSON from a file: UTF-8, no duplicate keys, nested at most `depth` deep. Anything else is an
 * invalid_file error that begins with `where`.
 */
Json parse_json(const std::string& text, const std::string& where, int depth);

}  // namespace atelier
