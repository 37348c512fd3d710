#include "nn/lora.h"

#include <algorithm>

namespace atelier {

Params stack_lora(
    const std::vector<LinearModule>& modules,
    const LoraSites& sites,
    const Params& params,
    mx::Dtype dtype) {
  struct Product {
    int out = 0;
    int rank = 0;
    std::vector<const LinearModule*> members;
  };
  std::map<std::string, Product> products;
  for (const LinearModule& m : modules) {
    Product& p = products[m.product];
    p.out = std::max(p.out, m.row + m.out);
    if (auto site = sites.find(m.name); site != sites.end()) {
      p.rank += site->second.rank;
      p.members.push_back(&m);
    }
  }
  Params out;
  for (const auto& [name, p] : products) {
    if (p.members.empty()) {
      continue;
    }
    std::vector<mx::array> as, bs;
    int column = 0;
    for (const LinearModule* m : p.members) {
      const LoraSite& site = sites.at(m->name);
      as.push_back(mx::astype(params.at(lora_a(m->name)), dtype));
      mx::array b = mx::astype(params.at(lora_b(m->name)) * mx::array(site.scale), dtype);
      const int after = p.rank - column - site.rank;
      if (p.members.size() > 1 || m->out != p.out) {
        b = mx::pad(
            b,
            std::vector<int>{-2, -1},
            mx::Shape{m->row, column},
            mx::Shape{p.out - m->row - m->out, after},
            mx::array(0.0f, dtype));
      }
      bs.push_back(b);
      column += site.rank;
    }
    mx::array b = bs[0];
    for (size_t i = 1; i < bs.size(); i++) {
      b = b + bs[i];
    }
    out.emplace(name + ".A", as.size() == 1 ? as[0] : mx::concatenate(as, -2));
    out.emplace(name + ".B", b);
  }
  return out;
}

}  // namespace atelier
