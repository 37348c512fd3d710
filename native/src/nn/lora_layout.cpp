#include "nn/lora_layout.h"

#include <algorithm>
#include <map>
#include <utility>

namespace atelier {
namespace {

struct Member {
  const LinearModule* module;
  const LoraSite* site;
  /** Its first rank among those of the product. */
  int column;
};

struct Product {
  int in = 0, out = 0, rank = 0, experts = 0;
  std::vector<Member> members;
};

std::map<std::string, Product> products_of(
    const std::vector<LinearModule>& modules,
    const LoraSites& sites) {
  std::map<std::string, Product> products;
  for (const LinearModule& m : modules) {
    Product& p = products[m.product];
    p.in = m.in;
    p.out = std::max(p.out, m.row + m.out);
    p.experts = m.experts;
    if (auto site = sites.find(m.name); site != sites.end()) {
      p.members.push_back({&m, &site->second, p.rank});
      p.rank += site->second.rank;
    }
  }
  std::erase_if(products, [](const auto& p) { return p.second.members.empty(); });
  return products;
}

// Where each parameter begins, in the order of their names.
std::map<std::string, int64_t> places_of(const std::map<std::string, Product>& products) {
  std::map<std::string, int64_t> places;
  for (const auto& [name, p] : products) {
    for (const Member& m : p.members) {
      const int64_t matrices = int64_t{std::max(1, p.experts)} * m.site->rank;
      places[lora_a(m.module->name)] = matrices * m.module->in;
      places[lora_b(m.module->name)] = matrices * m.module->out;
    }
  }
  int64_t from = 0;
  for (auto& [name, place] : places) {
    from += std::exchange(place, from);
  }
  return places;
}

}  // namespace

std::optional<LoraLayout> lora_layout(
    const std::vector<LinearModule>& modules,
    const LoraSites& sites) {
  const std::map<std::string, Product> products = products_of(modules, sites);
  const std::map<std::string, int64_t> places = places_of(products);
  std::vector<LoraLayout::Matrix> stacked;
  std::vector<Tile> tiles;
  int64_t to = 0;
  constexpr int64_t alignment = 128;
  auto add = [&](Tile block) {
    block.to = to;
    to += int64_t{block.rows} * block.width;
    tiles.push_back(block);
  };
  for (const auto& [name, p] : products) {
    auto begin = [&](const char* which, int rows, int columns) {
      if (const int64_t over = to % alignment; over > 0) {
        add({0, 0, 1, 0, static_cast<int>(alignment - over), 0, 0.0f});
      }
      const mx::Shape shape =
          p.experts ? mx::Shape{p.experts, rows, columns} : mx::Shape{rows, columns};
      stacked.push_back({name + which, shape, to});
    };
    const int experts = std::max(1, p.experts);
    begin(".A", p.rank, p.in);
    for (int e = 0; e < experts; e++) {
      for (const auto& [m, site, column] : p.members) {
        const int64_t from = places.at(lora_a(m->name)) + int64_t{e} * site->rank * m->in;
        add({from, 0, site->rank, m->in, m->in, 0, 1.0f});
      }
    }
    std::vector<Member> by_row = p.members;
    std::sort(by_row.begin(), by_row.end(), [](const Member& a, const Member& b) {
      return a.module->row < b.module->row;
    });
    begin(".B", p.out, p.rank);
    for (int e = 0; e < experts; e++) {
      int row = 0;
      auto empty_until = [&](int end) {
        if (end > row) {
          add({0, 0, end - row, 0, p.rank, 0, 0.0f});
        }
      };
      for (const auto& [m, site, column] : by_row) {
        if (site->dora || m->row < row) {
          return std::nullopt;
        }
        empty_until(m->row);
        const int64_t from = places.at(lora_b(m->name)) + int64_t{e} * m->out * site->rank;
        add({from, 0, m->out, site->rank, p.rank, column, site->scale});
        row = m->row + m->out;
      }
      empty_until(p.out);
    }
  }
  return LoraLayout{std::move(stacked), Tiles(std::move(tiles))};
}

}  // namespace atelier
