#pragma once

#include <mlx/mlx.h>

namespace atelier {
namespace mx = mlx::core;
}  // namespace atelier
