#include "engine/worker.h"

#include <doctest/doctest.h>

#include <future>
#include <vector>

using namespace atelier;

TEST_CASE("jobs run in order on one thread and the last one ends it") {
  Worker worker;
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  std::promise<void> third;
  for (int i = 1; i <= 3; i++) {
    worker.post(
        {static_cast<JobId>(i),
         [&, i](const CancelFlag&) {
           order.push_back(i);
           threads.push_back(std::this_thread::get_id());
           if (i == 3) {
             third.set_value();
           }
         },
         [] {}});
  }
  third.get_future().wait();
  bool last = false;
  worker.close([&] { last = true; });
  worker.join();
  CHECK(order == std::vector<int>{1, 2, 3});
  CHECK(threads[0] == threads[2]);
  CHECK(threads[0] != std::this_thread::get_id());
  CHECK(last);
  CHECK_FALSE(worker.post({9, [](const CancelFlag&) {}, [] {}}));
}

TEST_CASE("a waiting job is dropped, a running one is told") {
  Worker worker;
  std::promise<void> begun, stopped;
  bool dropped = false, ran = false;
  worker.post(
      {1,
       [&](const CancelFlag& cancelled) {
         begun.set_value();
         while (!cancelled) {
           std::this_thread::yield();
         }
         stopped.set_value();
       },
       [] {}});
  worker.post({2, [&](const CancelFlag&) { ran = true; }, [&] { dropped = true; }});
  begun.get_future().wait();
  CHECK(worker.jobs() == 2);
  worker.cancel(2);
  CHECK(dropped);
  worker.cancel(1);
  worker.cancel(77);
  stopped.get_future().wait();
  worker.close([] {});
  worker.join();
  CHECK_FALSE(ran);
}

TEST_CASE("closing drops what waits and stops what runs") {
  std::promise<void> begun;
  int dropped = 0;
  Worker worker;
  worker.post(
      {1,
       [&](const CancelFlag& cancelled) {
         begun.set_value();
         while (!cancelled) {
           std::this_thread::yield();
         }
       },
       [] {}});
  worker.post({2, [](const CancelFlag&) {}, [&] { dropped++; }});
  begun.get_future().wait();
  worker.close([] {});
  worker.join();
  CHECK(dropped == 1);
}

TEST_CASE("a job that others wait for runs although it was cancelled, and before the end") {
  Worker worker;
  std::promise<void> begun, go_on;
  std::vector<int> found;
  auto waited_for = [&](JobId id) {
    return Worker::Job{id, [&, id](const CancelFlag& cancelled) {
                         found.push_back(static_cast<int>(id) * (cancelled ? -1 : 1));
                       }};
  };
  worker.post(
      {1,
       [&](const CancelFlag&) {
         begun.set_value();
         go_on.get_future().wait();
       },
       [] {}});
  for (JobId id : {2, 3, 4}) {
    worker.post(waited_for(id));
  }
  begun.get_future().wait();
  worker.cancel(3);
  CHECK(worker.jobs() == 4);
  bool last = false;
  worker.close([&] { last = found.size() == 3; });
  go_on.set_value();
  worker.join();
  // closing cancels what is left
  CHECK(found == std::vector<int>{-2, -3, -4});
  CHECK(last);
}
