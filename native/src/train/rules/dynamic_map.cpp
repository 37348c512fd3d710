#include "train/rules/dynamic_map.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

std::array<float, 256> make_map(bool is_signed) {
  std::array<float, 256> map{};
  size_t n = 2;
  map[0] = 0.0f;
  map[1] = 1.0f;
  for (int decade = 0; decade < 7; decade++) {
    const int values = 1 << (is_signed ? decade : decade + 1);
    const double unit = std::pow(10.0, decade - 6);
    for (int k = 0; k < values; k++) {
      const auto value = static_cast<float>(unit * (0.1 + 0.9 * (k + 0.5) / values));
      map[n++] = value;
      if (is_signed) {
        map[n++] = -value;
      }
    }
  }
  std::sort(map.begin(), map.end());
  return map;
}

mx::array table(bool is_signed) {
  const auto& map = dynamic_map(is_signed);
  return mx::array(map.begin(), {256}, mx::float32);
}

// Entry k: numbers below it are nearer to value k - 1 than to value k. Entry 0 is never asked for.
mx::array boundaries(bool is_signed) {
  const auto& map = dynamic_map(is_signed);
  std::array<float, 256> between{};
  for (size_t k = 1; k < map.size(); k++) {
    between[k] = (map[k - 1] + map[k]) / 2;
  }
  return mx::array(between.begin(), {256}, mx::float32);
}

}  // namespace

const std::array<float, 256>& dynamic_map(bool is_signed) {
  static const std::array<float, 256> maps[] = {make_map(false), make_map(true)};
  return maps[is_signed ? 1 : 0];
}

Blocks to_blocks(const mx::array& values, bool is_signed) {
  auto flat = mx::flatten(values);
  const int n = static_cast<int>(flat.size());
  const int blocks = (n + block_size - 1) / block_size;
  if (const int rest = blocks * block_size - n; rest > 0) {
    flat = mx::pad(flat, std::pair{0, rest});
  }
  auto x = mx::reshape(flat, {blocks, block_size});
  auto scales = mx::max(mx::abs(x), 1, true);
  // A block of zeros has no scale to divide by.
  x = x / mx::where(mx::equal(scales, mx::array(0.0f)), mx::array(1.0f), scales);
  // Bisection over the 256 values.
  const auto bounds = boundaries(is_signed);
  auto code = mx::zeros(x.shape(), mx::uint32);
  for (uint32_t bit = 128; bit > 0; bit /= 2) {
    auto higher = code + mx::array(bit, mx::uint32);
    code = mx::where(mx::greater_equal(x, mx::take(bounds, higher)), higher, code);
  }
  return {mx::astype(code, mx::uint8), scales};
}

mx::array from_blocks(const Blocks& blocks, bool is_signed, const mx::Shape& shape) {
  auto x = mx::take(table(is_signed), mx::astype(blocks.codes, mx::uint32)) * blocks.scales;
  int n = 1;
  for (const int size : shape) {
    n *= size;
  }
  return mx::reshape(mx::slice(mx::flatten(x), {0}, {n}), shape);
}

}  // namespace atelier
