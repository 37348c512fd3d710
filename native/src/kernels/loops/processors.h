#pragma once

// Makes the functions of ATELIER_LOOPS, a header without includes and guard, once for each kind of processor, with vec.h:
// vectors are lowered to the instructions that the code around them may use, so a clone of a finished function
// (target_clones) would have those of the oldest. On x86-64 by GCC; elsewhere there is one kind.

#include "kernels/processor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define ATELIER_INLINE inline __attribute__((always_inline))

namespace atelier {
namespace {
namespace common {
#define ATELIER_LANES 4
#include "kernels/loops/vec.h"
#include ATELIER_LOOPS
#undef ATELIER_LANES
}  // namespace common
#if defined(ATELIER_PROCESSORS)
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2")
namespace avx2 {
#define ATELIER_LANES 8
#include "kernels/loops/vec.h"
#include ATELIER_LOOPS
#undef ATELIER_LANES
}  // namespace avx2
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target( \
    "avx2,fma,bmi,bmi2,avx512f,avx512cd,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
namespace avx512 {
#define ATELIER_LANES 16
#include "kernels/loops/vec.h"
#include ATELIER_LOOPS
#undef ATELIER_LANES
}  // namespace avx512
#pragma GCC pop_options
#endif
}  // namespace
}  // namespace atelier

/** The function of ATELIER_LOOPS that this processor runs. */
#if defined(ATELIER_PROCESSORS)
#define ATELIER_LOOP(name) (for_processor(&common::name, &avx2::name, &avx512::name))
#else
#define ATELIER_LOOP(name) (&common::name)
#endif
