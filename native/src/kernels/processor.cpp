#include "kernels/processor.h"

#include <atomic>

namespace atelier {
namespace {

std::atomic<Processor>& current() {
  static std::atomic<Processor> kind = best_processor();
  return kind;
}

}  // namespace

Processor best_processor() {
#if defined(ATELIER_PROCESSORS)
  const auto has = [](auto... there) { return (... && there); };
  if (!has(
          __builtin_cpu_supports("avx2"),
          __builtin_cpu_supports("fma"),
          __builtin_cpu_supports("bmi"),
          __builtin_cpu_supports("bmi2"))) {
    return Processor::common;
  }
  return has(__builtin_cpu_supports("avx512f"),
             __builtin_cpu_supports("avx512cd"),
             __builtin_cpu_supports("avx512bw"),
             __builtin_cpu_supports("avx512dq"),
             __builtin_cpu_supports("avx512vl"))
             ? Processor::avx512
             : Processor::avx2;
#else
  return Processor::common;
#endif
}

Processor processor() {
  return current().load(std::memory_order_relaxed);
}

void use_processor(Processor kind) {
  current() = kind;
}

}  // namespace atelier
