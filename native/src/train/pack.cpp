#include "train/pack.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

namespace atelier {

std::vector<std::vector<int>> best_fit_decreasing(const std::vector<int>& lengths, int capacity) {
  std::vector<int> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
      order.begin(), order.end(), [&](int a, int b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<int>> lines;
  std::map<int, std::deque<size_t>> by_room;
  for (const int item : order) {
    auto found = by_room.lower_bound(lengths[item]);
    size_t line = lines.size();
    int room = capacity;
    if (found == by_room.end()) {
      lines.emplace_back();
    } else {
      line = found->second.front();
      room = found->first;
      found->second.pop_front();
      if (found->second.empty()) {
        by_room.erase(found);
      }
    }
    lines[line].push_back(item);
    by_room[room - lengths[item]].push_back(line);
  }
  return lines;
}

}  // namespace atelier
