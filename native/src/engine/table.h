#pragma once

#include "core/error.h"

#include <map>
#include <memory>
#include <string>

namespace atelier {

/** Objects by the numbers that JS holds. */
template <class T>
class Table {
 public:
  /** `what` is said in messages: "model". */
  explicit Table(std::string what) : what_(std::move(what)) {}

  int add(std::shared_ptr<T> object) {
    objects_.emplace(next_, std::move(object));
    return next_++;
  }

  std::shared_ptr<T> get(int id) const {
    auto at = objects_.find(id);
    if (at == objects_.end()) {
      throw Error(
          ErrorCode::not_found, "there is no " + what_ + " " + std::to_string(id) + " (any more)");
    }
    return at->second;
  }

  void remove(int id) {
    get(id);
    objects_.erase(id);
  }

  size_t size() const {
    return objects_.size();
  }

  auto begin() const {
    return objects_.begin();
  }
  auto end() const {
    return objects_.end();
  }

 private:
  std::string what_;
  std::map<int, std::shared_ptr<T>> objects_;
  int next_ = 1;
};

}  // namespace atelier
