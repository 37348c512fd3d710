#include "kernels/tiles.h"
#include "kernels/gpu/kernel.h"

#include <limits>

namespace atelier {
namespace {

// Blocks of threads in y share out the tiles; those in x the numbers of one.
const char* common = R"(
  const int* d = tiles + blockIdx.y * 7;
  const int from = d[0], to = d[1], rows = d[2], columns = d[3], width = d[4], at = d[5];
  const float scale = as_float(d[6]);
  const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
)";

const char* place_source = R"(
  for (int i = first; i < rows * width; i += step) {
    const int r = i / width, c = i - r * width - at;
    out[to + i] = T_out(c >= 0 && c < columns ? x[from + r * columns + c] * scale : 0.0f);
  }
)";

const char* take_source = R"(
  for (int i = first; i < rows * columns; i += step) {
    const int r = i / columns, c = i - r * columns;
    out[from + i] = float(x[to + r * width + at + c]) * scale;
  }
)";

GpuLaunch launch(const Tiles& tiles, int64_t size, mx::Dtype dtype) {
  return {
      {{static_cast<int>(size)}}, {dtype}, {32, static_cast<int>(tiles.all.size()), 1}, 256, {}};
}

}  // namespace

bool tiles_fit_gpu(const mx::array& vector, const Tiles& tiles) {
  return gpu_kernels_for(vector) && tiles.size < std::numeric_limits<int32_t>::max() &&
         tiles.all.size() < 65536;
}

mx::array place_tiles_gpu(const mx::array& from, const Tiles& tiles, mx::Dtype dtype) {
  static const GpuKernel kernel(
      "place_tiles", {"x", "tiles"}, {"out"}, std::string(common) + place_source);
  return kernel({from, tiles.table}, launch(tiles, tiles.size, dtype))[0];
}

mx::array take_tiles_gpu(const mx::array& other, const Tiles& tiles) {
  static const GpuKernel kernel(
      "take_tiles", {"x", "tiles"}, {"out"}, std::string(common) + take_source);
  return kernel({other, tiles.table}, launch(tiles, tiles.taken, mx::float32))[0];
}

}  // namespace atelier
