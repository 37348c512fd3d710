#pragma once

#include <string>

namespace atelier {

/** Text from a file or a caller, safe to show in a message: quoted, escaped, cut at 80 characters. */
std::string quoted(const std::string& text);

}  // namespace atelier
