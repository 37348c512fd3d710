#include "nn/kv_cache.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace atelier {
namespace {

using CachePart = std::optional<mx::array> KvCache::Layer::*;
constexpr CachePart in_slots[] = {&KvCache::Layer::k, &KvCache::Layer::v};
constexpr CachePart of_rows[] = {&KvCache::Layer::state, &KvCache::Layer::tail};

// Fills `out`, whose layers are those of `like`, with f(layer index, part) of the parts that are there.
template <class F, size_t N>
void for_parts(KvCache& out, const KvCache& like, const CachePart (&parts)[N], F&& f) {
  for (size_t i = 0; i < out.layers.size(); i++) {
    for (const CachePart part : parts) {
      if (like.layers[i].*part) {
        out.layers[i].*part = f(i, part);
      }
    }
  }
}

mx::array slots(const mx::array& kv, int from, int to) {
  mx::Shape start(4, 0), stop = kv.shape();
  start[2] = from;
  stop[2] = to;
  return mx::slice(kv, start, stop);
}

mx::array padded(const mx::array& kv, int before, int after) {
  return mx::pad(
      kv, std::vector<int>{2}, mx::Shape{before}, mx::Shape{after}, mx::array(0.0f, kv.dtype()));
}

}  // namespace

KvCache::KvCache(int layers, std::vector<int32_t> start)
    : layers(layers), start(start), origin(start.size()), alike_until(start) {
  std::iota(origin.begin(), origin.end(), 0);
}

DecodeRows KvCache::decode_rows(mx::array slot) const {
  std::map<int32_t, std::vector<int32_t>> of_origin;
  for (int32_t b = 0; b < rows(); b++) {
    of_origin[origin[b]].push_back(b);
  }
  // Two rows alone are no line's worth: they share one with others.
  constexpr size_t line = decode_line, least = 3;
  std::vector<int32_t> alike, lines, rest;
  auto begin_line = [&] { lines.resize((lines.size() + line - 1) / line * line, -1); };
  for (int32_t b = 0; b < rows(); b++) {
    const std::vector<int32_t>& same = of_origin.at(origin[b]);
    alike.insert(alike.end(), {same[0], same.size() > 1 ? alike_until[b] : 0});
    if (b == same[0]) {
      const size_t left = same.size() % line < least ? same.size() % line : 0;
      lines.insert(lines.end(), same.begin(), same.end() - left);
      rest.insert(rest.end(), same.end() - left, same.end());
      begin_line();
    }
  }
  DecodeRows out{
      std::move(slot),
      mx::array(start.begin(), {rows()}, mx::int32),
      mx::array(alike.begin(), {rows(), 2}, mx::int32)};
  if (2 * rest.size() < static_cast<size_t>(rows())) {
    lines.insert(lines.end(), rest.begin(), rest.end());
    begin_line();
    out.lines_T8 =
        mx::array(lines.begin(), {static_cast<int>(lines.size() / line), decode_line}, mx::int32);
  }
  return out;
}

std::vector<mx::array> KvCache::arrays() const {
  std::vector<mx::array> out;
  for (const Layer& layer : layers) {
    for (const auto& part : {layer.k, layer.v, layer.state, layer.tail}) {
      if (part) {
        out.push_back(*part);
      }
    }
  }
  return out;
}

bool KvCache::ragged() const {
  return std::any_of(start.begin(), start.end(), [](int32_t s) { return s > 0; });
}

mx::array KvCache::positions(int L) const {
  if (on_device) {
    return mx::expand_dims(on_device->slot - on_device->start_B, 1);
  }
  const mx::array slots = mx::reshape(mx::arange(length, length + L, mx::int32), {1, L});
  return ragged() ? slots - mx::array(start.begin(), {rows(), 1}, mx::int32) : slots;
}

void KvCache::advance(int L) {
  length += L;
  if (on_device) {
    on_device->slot = on_device->slot + mx::array(L, mx::int32);
  }
}

int KvCache::capacity(int length) const {
  return cache_capacity(std::max(length, reserve));
}

int cache_capacity(int length) {
  int capacity = 64;
  while (capacity < length) {
    capacity += std::min(capacity, 1024);
  }
  return capacity;
}

KvCache take_rows(const KvCache& cache, const std::vector<int32_t>& rows) {
  KvCache out(static_cast<int>(cache.layers.size()), {});
  int32_t empty = cache.length;
  for (int32_t r : rows) {
    empty = std::min(empty, cache.start[r]);
  }
  for (int32_t r : rows) {
    out.start.push_back(cache.start[r] - empty);
    out.origin.push_back(cache.origin[r]);
    out.alike_until.push_back(cache.alike_until[r] - empty);
  }
  out.length = cache.length - empty;
  out.reserve = cache.reserve;
  const int capacity = out.capacity(out.length + 1);
  const mx::array index(rows.begin(), {static_cast<int>(rows.size())}, mx::int32);
  for_parts(out, cache, in_slots, [&](size_t i, CachePart part) {
    const mx::array& kv = *(cache.layers[i].*part);
    return padded(mx::take(slots(kv, empty, cache.length), index, 0), 0, capacity - out.length);
  });
  for_parts(out, cache, of_rows, [&](size_t i, CachePart part) {
    return mx::take(*(cache.layers[i].*part), index, 0);
  });
  return out;
}

KvCache join_rows(const std::vector<KvCache>& caches) {
  if (caches.size() == 1) {
    return caches[0];
  }
  KvCache out(static_cast<int>(caches[0].layers.size()), {});
  for (const KvCache& c : caches) {
    out.length = std::max(out.length, c.length);
    out.reserve = std::max(out.reserve, c.reserve);
  }
  const int capacity = out.capacity(out.length + 1);
  for (const KvCache& c : caches) {
    const int moved = out.length - c.length;
    const int32_t others = out.origin.empty() ? 0 : 1 + *std::ranges::max_element(out.origin);
    for (int b = 0; b < c.rows(); b++) {
      out.start.push_back(c.start[b] + moved);
      out.origin.push_back(c.origin[b] + others);
      out.alike_until.push_back(c.alike_until[b] + moved);
    }
  }
  for_parts(out, caches[0], in_slots, [&](size_t i, CachePart part) {
    std::vector<mx::array> parts;
    for (const KvCache& c : caches) {
      parts.push_back(padded(
          slots(*(c.layers[i].*part), 0, c.length), out.length - c.length, capacity - out.length));
    }
    return mx::concatenate(parts, 0);
  });
  for_parts(out, caches[0], of_rows, [&](size_t i, CachePart part) {
    std::vector<mx::array> parts;
    for (const KvCache& c : caches) {
      parts.push_back(*(c.layers[i].*part));
    }
    return mx::concatenate(parts, 0);
  });
  return out;
}

}  // namespace atelier
