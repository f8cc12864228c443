#include "server/team.h"

#include <condition_variable>
#include <latch>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#ifndef __SANITIZE_THREAD__
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#endif

namespace berth::server {

namespace {

/// Creates and ends as many threads. oneTBB would wait for ever for threads that the system refuses.
void make_sure_of(std::uint32_t threads) {
  static std::mutex busy;
  static std::uint32_t proven = 0;
  const std::scoped_lock one_at_a_time(busy);
  if (threads <= proven) return;
  std::mutex guard;
  std::condition_variable ended;
  bool end = false;
  std::vector<std::thread> made;
  std::error_code refused;
  try {
    for (std::uint32_t i = 0; i < threads; ++i)
      made.emplace_back([&] {
        std::unique_lock lock(guard);
        ended.wait(lock, [&] { return end; });
      });
  } catch (const std::system_error& error) {
    refused = error.code();
  }
  {
    const std::scoped_lock lock(guard);
    end = true;
  }
  ended.notify_all();
  for (std::thread& thread : made) thread.join();
  if (refused)
    throw std::system_error(refused, "the system makes only " + std::to_string(made.size()) + " of " +
                                         std::to_string(threads) + " threads; use fewer workers, or raise the limit " +
                                         "(ulimit -u)");
  proven = threads;
}

}  // namespace

#ifdef __SANITIZE_THREAD__

// The packaged oneTBB is not instrumented, so the thread sanitizer does not see the ordering its queues give.
struct Team::Threads {
  Threads(std::uint32_t count, Body p, Body b) : prepare(std::move(p)), body(std::move(b)), preparing(count) {}
  Body prepare, body;
  std::latch preparing;
  std::vector<std::jthread> threads;
};

Team::Team(std::uint32_t threads, Body prepare, Body body)
    : threads_((make_sure_of(threads), std::make_unique<Threads>(threads, std::move(prepare), std::move(body)))) {
  for (std::uint32_t i = 0; i < threads; ++i)
    threads_->threads.emplace_back([team = threads_.get(), i] {
      team->prepare(i);
      team->preparing.count_down();
      team->body(i);
    });
  threads_->preparing.wait();
}

Team::~Team() = default;

#else

struct Team::Threads {
  Threads(std::uint32_t threads, Body p, Body b)
      : limit(tbb::global_control::max_allowed_parallelism, threads + 1),
        arena(static_cast<int>(threads), 0),
        prepare(std::move(p)),
        body(std::move(b)),
        preparing(threads),
        running(threads) {}
  tbb::global_control limit;  // allow more threads than cores: each call gets one
  tbb::task_arena arena;      // no slot for the caller, which must not run a worker's loop
  tbb::task_group group;
  Body prepare, body;
  std::latch preparing;
  std::atomic<std::uint32_t> running;
};

Team::Team(std::uint32_t threads, Body prepare, Body body)
    : threads_((make_sure_of(threads), std::make_unique<Threads>(threads, std::move(prepare), std::move(body)))) {
  threads_->arena.execute([&] {
    for (std::uint32_t i = 0; i < threads; ++i)
      threads_->group.run([team = threads_.get(), i] {
        team->prepare(i);
        team->preparing.count_down();
        team->body(i);
        // Pairs with the acquire loads of the destructor.
        if (team->running.fetch_sub(1, std::memory_order_acq_rel) == 1) team->running.notify_all();
      });
  });
  threads_->preparing.wait();
}

Team::~Team() {
  for (std::uint32_t left; (left = threads_->running.load(std::memory_order_acquire)) > 0;)
    threads_->running.wait(left, std::memory_order_acquire);
  threads_->arena.execute([&] { threads_->group.wait(); });
}

#endif

}  // namespace berth::server
