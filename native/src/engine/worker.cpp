#include "engine/worker.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace atelier {

Worker::Worker() : thread_([this] { loop(); }) {}

Worker::~Worker() {
  close([] {});
  join();
}

bool Worker::post(Job job) {
  {
    std::lock_guard lock(mutex_);
    if (closing_) {
      return false;
    }
    queue_.push_back({std::move(job), std::make_shared<CancelFlag>(false)});
  }
  wake_.notify_one();
  return true;
}

void Worker::cancel(JobId id) {
  std::function<void()> dropped;
  {
    std::lock_guard lock(mutex_);
    if (running_cancelled_ && running_ == id) {
      *running_cancelled_ = true;
      return;
    }
    auto at =
        std::find_if(queue_.begin(), queue_.end(), [id](const Entry& e) { return e.job.id == id; });
    if (at == queue_.end()) {
      return;
    }
    if (!at->job.dropped) {
      *at->cancelled = true;
      return;
    }
    dropped = std::move(at->job.dropped);
    queue_.erase(at);
  }
  dropped();
}

void Worker::close(std::function<void()> last) {
  std::vector<Entry> waiting;
  {
    std::lock_guard lock(mutex_);
    if (closing_) {
      return;
    }
    closing_ = true;
    last_ = std::move(last);
    for (auto& entry : std::exchange(queue_, {})) {
      *entry.cancelled = true;
      if (entry.job.dropped) {
        waiting.push_back(std::move(entry));
      } else {
        queue_.push_back(std::move(entry));
      }
    }
    if (running_cancelled_) {
      *running_cancelled_ = true;
    }
  }
  wake_.notify_one();
  for (auto& entry : waiting) {
    entry.job.dropped();
  }
}

void Worker::join() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

size_t Worker::jobs() const {
  std::lock_guard lock(mutex_);
  return queue_.size() + (running_cancelled_ ? 1 : 0);
}

void Worker::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) {
      break;
    }
    auto entry = std::move(queue_.front());
    queue_.pop_front();
    running_ = entry.job.id;
    running_cancelled_ = entry.cancelled;
    lock.unlock();
    entry.job.run(*entry.cancelled);
    entry = {};  // what the job holds is released on this thread, before the next begins
    lock.lock();
    running_cancelled_.reset();
  }
  lock.unlock();
  last_();
}

}  // namespace atelier
