#include "kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace atelier {
namespace {

struct Job {
  int count, grain;
  const std::function<void(int, int)>* body;
  std::atomic<int> next = 0;
  std::atomic<int> left;
};

void work(Job& job) {
  for (;;) {
    const int begin = job.next.fetch_add(job.grain);
    if (begin >= job.count) {
      return;
    }
    (*job.body)(begin, std::min(begin + job.grain, job.count));
    if (job.left.fetch_sub(1) == 1) {
      job.left.notify_all();
    }
  }
}

class Pool {
 public:
  Pool() {
    const int helpers = std::min(static_cast<int>(std::thread::hardware_concurrency()), 16) - 1;
    for (int i = 0; i < helpers; i++) {
      threads_.emplace_back([this] { serve(); });
    }
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) {
      t.join();
    }
  }
  bool empty() const {
    return threads_.empty();
  }
  void run(const std::shared_ptr<Job>& job) {
    {
      const std::lock_guard lock(mutex_);
      job_ = job;
      round_++;
    }
    wake_.notify_all();
    work(*job);
    for (int left = job->left.load(); left > 0; left = job->left.load()) {
      job->left.wait(left);
    }
  }

 private:
  void serve() {
    uint64_t seen = 0;
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return closing_ || round_ != seen; });
        if (closing_) {
          return;
        }
        seen = round_;
        job = job_;
      }
      work(*job);
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<Job> job_;
  uint64_t round_ = 0;
  bool closing_ = false;
};

}  // namespace

void parallel_for(int count, int grain, const std::function<void(int, int)>& body) {
  static Pool pool;
  if (count <= grain || pool.empty()) {
    for (int begin = 0; begin < count; begin += grain) {
      body(begin, std::min(begin + grain, count));
    }
    return;
  }
  auto job = std::make_shared<Job>();
  job->count = count;
  job->grain = grain;
  job->body = &body;
  job->left = (count + grain - 1) / grain;
  pool.run(job);
}

}  // namespace atelier
