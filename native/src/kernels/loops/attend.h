// What lies between the q/k/v product and the output product.

#include "kernels/loops/heads.h"

#include "kernels/loops/decode_attention.h"
