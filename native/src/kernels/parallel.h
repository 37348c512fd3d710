#pragma once

#include <functional>

namespace atelier {

/**
 * Calls body(begin, end) for consecutive pieces of at most `grain` of [0, count), on several threads. The
 * pieces are the same whatever the number of threads, so that sums made piece by piece do not depend on it.
 * Threads sleep when there is nothing to do; the caller works too and waits for nobody who has not begun.
 */
void parallel_for(int count, int grain, const std::function<void(int begin, int end)>& body);

}  // namespace atelier
