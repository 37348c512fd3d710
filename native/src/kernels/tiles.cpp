#include "kernels/tiles.h"

#include <algorithm>
#include <cstring>

namespace atelier {
namespace {

mx::array cut(const mx::array& vector, int64_t from, int rows, int columns) {
  const auto start = static_cast<int>(from);
  return mx::reshape(mx::slice(vector, {start}, {start + rows * columns}), {rows, columns});
}

}  // namespace

Tiles::Tiles(std::vector<Tile> tiles) : all(std::move(tiles)), table(0) {
  std::vector<int32_t> numbers;
  for (const Tile& b : all) {
    int32_t scale;
    std::memcpy(&scale, &b.scale, sizeof scale);
    const auto from = static_cast<int32_t>(b.from), to = static_cast<int32_t>(b.to);
    numbers.insert(numbers.end(), {from, to, b.rows, b.columns, b.width, b.at, scale});
    size += int64_t{b.rows} * b.width;
    taken += int64_t{b.rows} * b.columns;
  }
  table = mx::array(numbers.begin(), {static_cast<int>(all.size()), 7}, mx::int32);
}

mx::array place_tiles_plain(const mx::array& from, const Tiles& tiles, mx::Dtype dtype) {
  Arrays parts;
  for (const Tile& b : tiles.all) {
    if (b.columns == 0) {
      parts.push_back(mx::zeros({b.rows * b.width}, dtype));
      continue;
    }
    const mx::array x =
        mx::astype(cut(from, b.from, b.rows, b.columns) * mx::array(b.scale), dtype);
    parts.push_back(
        mx::flatten(
            mx::pad(x, {{0, 0}, {b.at, b.width - b.at - b.columns}}, mx::zeros({}, dtype))));
  }
  return mx::concatenate(parts, 0);
}

mx::array take_tiles_plain(const mx::array& other, const Tiles& tiles) {
  std::vector<Tile> order = tiles.all;
  std::sort(
      order.begin(), order.end(), [](const Tile& a, const Tile& b) { return a.from < b.from; });
  Arrays parts;
  for (const Tile& b : order) {
    if (b.columns > 0) {
      const mx::array rows = mx::astype(cut(other, b.to, b.rows, b.width), mx::float32);
      parts.push_back(
          mx::flatten(mx::slice(rows, {0, b.at}, {b.rows, b.at + b.columns})) * mx::array(b.scale));
    }
  }
  return mx::concatenate(parts, 0);
}

mx::array place_tiles_cpu(const mx::array& from, const Tiles& tiles) {
  CpuKernel kernel{"PlaceTilesCpu", nullptr, nullptr};
  kernel.run = [all = tiles.all](const Arrays& in, Arrays& out) {
    const float* from = in[0].data<float>();
    float* to = out[0].data<float>();
    for (const Tile& b : all) {
      for (int r = 0; r < b.rows; r++) {
        float* row = to + b.to + int64_t{r} * b.width;
        std::fill(row, row + b.width, 0.0f);
        const float* own = from + b.from + int64_t{r} * b.columns;
        std::transform(own, own + b.columns, row + b.at, [&](float x) { return x * b.scale; });
      }
    }
  };
  return apply(kernel, {mx::contiguous(from)}, {{static_cast<int>(tiles.size)}})[0];
}

mx::array take_tiles_cpu(const mx::array& other, const Tiles& tiles) {
  CpuKernel kernel{"TakeTilesCpu", nullptr, nullptr};
  kernel.run = [all = tiles.all](const Arrays& in, Arrays& out) {
    const float* other = in[0].data<float>();
    float* to = out[0].data<float>();
    for (const Tile& b : all) {
      for (int r = 0; r < b.rows; r++) {
        const float* row = other + b.to + int64_t{r} * b.width + b.at;
        std::transform(row, row + b.columns, to + b.from + int64_t{r} * b.columns, [&](float x) {
          return x * b.scale;
        });
      }
    }
  };
  return apply(kernel, {mx::contiguous(other)}, {{static_cast<int>(tiles.taken)}})[0];
}

}  // namespace atelier
