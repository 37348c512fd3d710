#pragma once

#if defined(ATELIER_DEVICE_cuda)
#include "kernels/gpu/driver.h"

#include <vector>

namespace atelier {

/** Which node of a graph waits for which, as MLX's encoder keeps it. */
struct Edges {
  std::vector<CUgraphNode> from, to;
};

/** Adds the edges to a graph that has none; returns whether launches may overlap. */
bool connect_graph(CUgraph graph, const Edges& all);

}  // namespace atelier
#endif
