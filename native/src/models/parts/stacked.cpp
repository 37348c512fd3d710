#include "models/parts/stacked.h"

#include "nn/stacking.h"

namespace atelier {
namespace {

mx::array taken(Params& from, const std::string& name) {
  auto found = from.find(name);
  mx::array out = found->second;
  from.erase(found);
  return out;
}

// Modules that are stored as matrices of their own, floats or quantised.
std::vector<LinearModule> matrices(const std::vector<LinearModule>& modules) {
  std::vector<LinearModule> out;
  for (const LinearModule& m : modules) {
    if (m.stored && m.kind == ModuleKind::linear) {
      out.push_back(m);
    }
  }
  return out;
}

// Rows [row, row + out) of a product, counted in the second axis from the end, or in the last of a bias.
mx::array rows_of(const LinearModule& m, const mx::array& product, int axis) {
  if (product.shape(axis) == m.out) {
    return product;
  }
  mx::Shape start(product.ndim(), 0), stop = product.shape();
  start[axis] = m.row;
  stop[axis] = m.row + m.out;
  return mx::slice(product, start, stop);
}

std::string tensor_name(const LinearModule& m, int expert = 0) {
  return m.kind == ModuleKind::all_experts   ? m.name
         : m.kind == ModuleKind::each_expert ? expert_name(m.name, expert) + ".weight"
                                             : m.name + ".weight";
}

}  // namespace

std::vector<TensorSpec> module_tensors(const std::vector<LinearModule>& modules) {
  std::vector<TensorSpec> out;
  for (const LinearModule& m : modules) {
    if (!m.stored) {
      continue;
    }
    if (m.kind == ModuleKind::all_experts) {
      out.push_back({tensor_name(m), {m.experts, m.out, m.in}});
    } else {
      for (int e = 0; e < std::max(1, m.experts); e++) {
        out.push_back({tensor_name(m, e), {m.out, m.in}});
      }
    }
    if (m.bias) {
      out.push_back({m.name + ".bias", {m.out}, Fill::zeros});
    }
  }
  return out;
}

Params stack_modules(const std::vector<LinearModule>& modules, const Params& checkpoint) {
  Params out = stack_products(matrices(modules), checkpoint);
  std::map<std::string, std::vector<mx::array>> rows, biases;
  for (const LinearModule& m : modules) {
    if (!m.stored) {
      continue;
    }
    if (m.kind == ModuleKind::each_expert) {
      std::vector<mx::array> experts;
      for (int e = 0; e < m.experts; e++) {
        experts.push_back(taken(out, tensor_name(m, e)));
      }
      rows[m.product].push_back(mx::stack(experts));
    } else if (m.kind == ModuleKind::all_experts) {
      rows[m.product].push_back(taken(out, tensor_name(m)));
    }
    if (m.bias) {
      biases[m.product].push_back(taken(out, m.name + ".bias"));
    }
  }
  for (auto& [product, parts] : rows) {
    out.emplace(product + ".weight", parts.size() == 1 ? parts[0] : mx::concatenate(parts, -2));
  }
  for (auto& [product, parts] : biases) {
    out.emplace(product + ".bias", parts.size() == 1 ? parts[0] : mx::concatenate(parts, -1));
  }
  return out;
}

Params unstack_modules(const std::vector<LinearModule>& modules, const Params& weights) {
  Params out = unstack_products(matrices(modules), weights);
  for (const LinearModule& m : modules) {
    if (m.kind != ModuleKind::linear) {
      out.erase(m.product + ".weight");
    }
    out.erase(m.product + ".bias");
  }
  for (const LinearModule& m : modules) {
    if (!m.stored) {
      continue;
    }
    if (m.kind != ModuleKind::linear) {
      const mx::array& product = weights.at(m.product + ".weight");
      const mx::array own = rows_of(m, product, product.ndim() - 2);
      if (m.kind == ModuleKind::all_experts) {
        out.emplace(tensor_name(m), own);
      }
      for (int e = 0; m.kind == ModuleKind::each_expert && e < m.experts; e++) {
        out.emplace(
            tensor_name(m, e), mx::squeeze(mx::slice(own, {e, 0, 0}, {e + 1, m.out, m.in}), 0));
      }
    }
    if (m.bias) {
      out.emplace(m.name + ".bias", rows_of(m, weights.at(m.product + ".bias"), 0));
    }
  }
  return out;
}

}  // namespace atelier
