#include "nn/stacking.h"

namespace atelier {
namespace {

const char* const kinds[] = {".weight", ".scales", ".biases"};

bool same_form(const Params& checkpoint, const std::string& a, const std::string& b) {
  for (const char* kind : kinds) {
    auto one = checkpoint.find(a + kind), other = checkpoint.find(b + kind);
    if ((one == checkpoint.end()) != (other == checkpoint.end())) {
      return false;
    }
    if (one != checkpoint.end() && (one->second.shape(-1) != other->second.shape(-1) ||
                                    one->second.dtype() != other->second.dtype())) {
      return false;
    }
  }
  return true;
}

// The part of its product that holds a module, and the module's first row there.
struct Place {
  std::string part;
  int row;
};

Place place_of(const Params& weights, const LinearModule& m) {
  int row = m.row;
  for (int k = 0;; k++) {
    const std::string part = part_name(m.product, k);
    const int rows = weights.at(part + ".weight").shape(0);
    if (row < rows) {
      return {part, row};
    }
    row -= rows;
  }
}

}  // namespace

std::string part_name(const std::string& product, int k) {
  return k == 0 ? product : product + "." + std::to_string(k);
}

Params stack_products(const std::vector<LinearModule>& modules, const Params& checkpoint) {
  Params out = checkpoint;
  std::map<std::string, std::vector<std::vector<std::string>>> products;
  for (const LinearModule& m : modules) {
    auto& parts = products[m.product];
    if (parts.empty() || !same_form(checkpoint, parts.back().front(), m.name)) {
      parts.emplace_back();
    }
    parts.back().push_back(m.name);
    for (const char* kind : kinds) {
      out.erase(m.name + kind);
    }
  }
  for (const auto& [product, parts] : products) {
    for (size_t k = 0; k < parts.size(); k++) {
      for (const char* kind : kinds) {
        std::vector<mx::array> rows;
        for (const std::string& name : parts[k]) {
          if (auto found = checkpoint.find(name + kind); found != checkpoint.end()) {
            rows.push_back(found->second);
          }
        }
        if (!rows.empty()) {
          out.emplace(
              part_name(product, static_cast<int>(k)) + kind,
              rows.size() == 1 ? rows[0] : mx::concatenate(rows, 0));
        }
      }
    }
  }
  return out;
}

Params unstack_products(const std::vector<LinearModule>& modules, const Params& weights) {
  Params out = weights;
  Params made;
  for (const LinearModule& m : modules) {
    const Place at = place_of(weights, m);
    for (const char* kind : kinds) {
      auto found = weights.find(at.part + kind);
      if (found == weights.end()) {
        continue;
      }
      const mx::array& all = found->second;
      out.erase(at.part + kind);
      made.emplace(
          m.name + kind,
          all.shape(0) == m.out ? all
                                : mx::slice(all, {at.row, 0}, {at.row + m.out, all.shape(1)}));
    }
  }
  out.merge(made);
  return out;
}

mx::array module_floats(const Params& weights, const LinearModule& m) {
  const Place at = place_of(weights, m);
  return weight_of(weights, at.part, m.in).dense(at.row, at.row + m.out);
}

}  // namespace atelier
