#pragma once

#include "core/mlx.h"

#include <map>
#include <string>

namespace atelier {

/** Arrays by name. The order of the map is the order of every flat argument list made from it. */
using Params = std::map<std::string, mx::array>;

}  // namespace atelier
