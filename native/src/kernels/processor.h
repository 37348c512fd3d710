#pragma once

#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define ATELIER_PROCESSORS 1
#endif

namespace atelier {

/** Kinds of processors that loops are compiled for (loops/processors.h): each has what those before it have. */
enum class Processor { common, avx2, avx512 };

/** Floats of a vector, on the processor that has the longest. */
constexpr int most_lanes = 16;

/** What the machine has. */
Processor best_processor();
/** What loops are chosen by: the best, but where a test asks for one below it. */
Processor processor();
void use_processor(Processor kind);

template <class F>
F for_processor(F common, F avx2, F avx512) {
  switch (processor()) {
    case Processor::avx512:
      return avx512;
    case Processor::avx2:
      return avx2;
    default:
      return common;
  }
}

}  // namespace atelier
