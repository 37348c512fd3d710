#include "train/ranks.h"

#include "core/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace atelier {
namespace {

// Bytes that are summed at once: enough for the links to be busy, little beside what is summed.
constexpr size_t bucket_bytes = size_t{64} << 20;

constexpr double fine = 0, cancelled_here = 1, failed_here = 2;

mx::array summed(const mx::array& x, const mx::distributed::Group& group) {
  auto sum = mx::distributed::all_sum(mx::contiguous(x), group);
  sum.eval();
  return sum;
}

}  // namespace

Ranks::Ranks(const std::string& backend) {
  if (!mx::distributed::is_available(backend)) {
    throw Error(
        ErrorCode::device_unavailable,
        "this build's MLX has no '" + backend + "', through which several devices work together");
  }
  auto group = mx::distributed::init(true, backend);
  if (group.size() > 1) {
    group_ = group;
  }
}

int Ranks::rank() const {
  return group_ ? group_->rank() : 0;
}

int Ranks::size() const {
  return group_ ? group_->size() : 1;
}

void Ranks::together(const std::function<void()>& body) const {
  if (!group_) {
    body();
    return;
  }
  std::exception_ptr failure;
  double ending = fine;
  try {
    body();
  } catch (const Error& e) {
    failure = std::current_exception();
    ending = e.code == ErrorCode::cancelled ? cancelled_here : failed_here;
  } catch (...) {
    failure = std::current_exception();
    ending = failed_here;
  }
  std::vector<std::vector<double>> endings;
  try {
    endings = gather({ending});
  } catch (...) {
    // What came first says more.
    if (failure) {
      std::rethrow_exception(failure);
    }
    throw;
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  for (size_t rank = 0; rank < endings.size(); rank++) {
    if (endings[rank][0] != fine) {
      throw Error(
          ErrorCode::cancelled,
          "rank " + std::to_string(rank) +
              (endings[rank][0] == cancelled_here ? " was cancelled" : " could not go on"));
    }
  }
}

std::vector<std::vector<double>> Ranks::gather(const std::vector<double>& values) const {
  if (!group_) {
    return {values};
  }
  // GPUs have no f64: each number goes as two f32.
  std::vector<float> halves;
  for (double value : values) {
    const auto high = static_cast<float>(value);
    halves.push_back(high);
    halves.push_back(std::isfinite(high) ? static_cast<float>(value - high) : 0.0f);
  }
  const auto width = static_cast<int>(halves.size());
  auto all = mx::distributed::all_gather(mx::array(halves.begin(), {width}, mx::float32), group_);
  all.eval();
  std::vector<std::vector<double>> by_rank(size());
  for (size_t i = 0; i < all.size(); i += 2) {
    const float* half = all.data<float>() + i;
    by_rank[i / width].push_back(static_cast<double>(half[0]) + half[1]);
  }
  return by_rank;
}

std::vector<float> Ranks::sum(const std::vector<float>& values) const {
  if (!group_ || values.empty()) {
    return values;
  }
  auto all =
      summed(mx::array(values.begin(), {static_cast<int>(values.size())}, mx::float32), *group_);
  return {all.data<float>(), all.data<float>() + all.size()};
}

std::vector<mx::array> Ranks::sum(std::vector<mx::array> arrays) const {
  if (!group_) {
    return arrays;
  }
  for (size_t from = 0, to = 0; from < arrays.size(); from = to) {
    std::vector<mx::array> flat;
    for (size_t bytes = 0; to < arrays.size() && (to == from || bytes < bucket_bytes); to++) {
      bytes += arrays[to].nbytes();
      flat.push_back(mx::flatten(arrays[to]));
    }
    const auto all = summed(flat.size() == 1 ? flat[0] : mx::concatenate(flat, 0), *group_);
    int at = 0;
    for (size_t i = from; i < to; i++) {
      const int end = at + static_cast<int>(arrays[i].size());
      arrays[i] = mx::reshape(mx::slice(all, {at}, {end}), arrays[i].shape());
      at = end;
    }
  }
  return arrays;
}

std::vector<std::vector<int>> share_of(
    const std::vector<std::vector<int>>& units,
    const std::vector<int32_t>& targets,
    int rank,
    int size) {
  std::vector<int64_t> tokens(units.size(), 0), load(size, 0);
  for (size_t u = 0; u < units.size(); u++) {
    for (int row : units[u]) {
      tokens[u] += targets[row] + 1;
    }
  }
  std::vector<size_t> order(units.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(
      order.begin(), order.end(), [&](size_t a, size_t b) { return tokens[a] > tokens[b]; });
  std::vector<size_t> own;
  for (size_t u : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += tokens[u];
    if (least - load.begin() == rank) {
      own.push_back(u);
    }
  }
  std::sort(own.begin(), own.end());
  std::vector<std::vector<int>> share;
  for (size_t u : own) {
    share.push_back(units[u]);
  }
  return share;
}

}  // namespace atelier
