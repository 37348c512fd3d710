#pragma once

#include "kernels/thin_product.h"

namespace atelier {

/** thin_product_gpu's for more rows than its own kernel takes; a norm in front is a kernel of its own. */
mx::array tile_product_gpu(ThinProduct product);
bool tile_product_fits_gpu(const ThinProduct& product);

}  // namespace atelier
