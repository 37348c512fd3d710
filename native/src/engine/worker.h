#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace atelier {

using JobId = uint64_t;
/** Set by the asker, read by the work between two steps. */
using CancelFlag = std::atomic<bool>;

/**
 * One thread and its queue: jobs run one at a time, first come first served. The thread owns every MLX
 * array of the engine; nothing else may hold one.
 */
class Worker {
 public:
  struct Job {
    JobId id = 0;
    /** On the worker's thread. Must not throw. */
    std::function<void(const CancelFlag&)> run;
    /**
     * In place of run, on the thread that cancels, when the job was still waiting. Must not throw. Absent: the job runs
     * all the same and finds its flag set, as one must that others wait for.
     */
    std::function<void()> dropped = {};
  };

  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /** False once closing has begun: the job is not taken. */
  bool post(Job job);
  /** Drops a waiting job or flags it, flags a running one; a job that is gone is no error. */
  void cancel(JobId id);
  /** Cancels everything that was posted before and runs `last` as the last job. */
  void close(std::function<void()> last);
  /** Waits for the thread to end; close must have been called. Not from the worker's own thread. */
  void join();
  /** Waiting jobs and the running one. */
  size_t jobs() const;

 private:
  struct Entry {
    Job job;
    std::shared_ptr<CancelFlag> cancelled;
  };

  void loop();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Entry> queue_;
  JobId running_ = 0;
  std::shared_ptr<CancelFlag> running_cancelled_;
  std::function<void()> last_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace atelier
