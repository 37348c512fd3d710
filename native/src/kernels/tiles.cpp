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

}  // namespace atelier
