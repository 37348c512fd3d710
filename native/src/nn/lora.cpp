#include "nn/lora.h"

#include "kernels/gpu/kernel.h"
#include "kernels/lora_sum.h"
#include "kernels/thin_product.h"
#include "nn/linear.h"
#include "nn/stacking.h"

#include <algorithm>
#include <string_view>

namespace atelier {

mx::array dora_norms(const mx::array& w, const mx::array& a, const mx::array& b, float scale) {
  const mx::array s(scale);
  const mx::array wa = product(w, a), aa = product(a, a);
  const mx::array squares = mx::sum(w * w, 1) + mx::array(2.0f) * s * mx::sum(wa * b, 1) +
                            s * s * mx::sum(mx::matmul(b, aa) * b, 1);
  // Rounding may take a row that vanishes below 0.
  return mx::sqrt(mx::maximum(squares, mx::array(0.0f)));
}

Params stack_lora(
    const std::vector<LinearModule>& modules,
    const LoraSites& sites,
    const Params& params,
    const Params& weights,
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
    std::vector<mx::array> gains;
    int column = 0, row = 0;
    auto ones_until = [&](int to) {
      if (to > row) {
        gains.push_back(mx::ones({to - row}, dtype));
      }
    };
    for (const LinearModule* m : p.members) {
      const LoraSite& site = sites.at(m->name);
      if (site.dora) {
        const mx::array norms = mx::stop_gradient(dora_norms(
            mx::astype(module_floats(weights, *m), mx::float32),
            params.at(lora_a(m->name)),
            params.at(lora_b(m->name)),
            site.scale));
        ones_until(m->row);
        gains.push_back(mx::astype(params.at(lora_magnitude(m->name)) / norms, dtype));
        row = m->row + m->out;
      }
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
    if (!gains.empty()) {
      ones_until(p.out);
      out.emplace(name + ".gain", gains.size() == 1 ? gains[0] : mx::concatenate(gains, 0));
    }
  }
  return out;
}

namespace {

template <class Each>
void each_joined(const Params& lora, const Params& weights, int rows, bool recorded, Each&& each) {
  if (rows <= thin_product_rows || rows > lora_sum_rows) {
    return;
  }
  constexpr std::string_view end = ".A";
  for (const auto& [name, a] : lora) {
    if (!name.ends_with(end) || a.ndim() != 2 || a.shape(0) % lora_sum_ranks != 0) {
      continue;
    }
    const std::string product = name.substr(0, name.size() - end.size());
    const mx::array& w = weights.at(product + ".weight");
    const bool summed = w.shape(0) % lora_sum_features == 0;
    const bool whole = !weights.count(part_name(product, 1) + ".weight");
    if (!gpu_kernels_for(a) || a.dtype() == mx::float32 || w.dtype() != a.dtype() || !whole ||
        !summed) {
      continue;
    }
    ThinProduct thin{mx::zeros({rows, a.shape(1)}, a.dtype()), w};
    thin.lora = {a, lora.at(product + ".B")};
    if (!recorded || !thin_product_fits_recorded_gpu(thin)) {
      each(product, w, a);
    }
  }
}

}  // namespace

void join_lora(Params& lora, const Params& weights, int rows, bool recorded) {
  Params joined;
  std::vector<mx::array> all;
  each_joined(
      lora,
      weights,
      rows,
      recorded,
      [&](const std::string& product, const mx::array& w, const mx::array& a) {
        all.push_back(mx::concatenate({w, a}, 0));
        joined.emplace(product + ".WA", all.back());
      });
  mx::eval(all);
  lora.merge(joined);
}

uint64_t join_lora_bytes(const Params& lora, const Params& weights, int rows, bool recorded) {
  uint64_t bytes = 0;
  each_joined(
      lora,
      weights,
      rows,
      recorded,
      [&](const std::string&, const mx::array& w, const mx::array& a) {
        bytes += w.nbytes() + a.nbytes();
      });
  return bytes;
}

}  // namespace atelier
