// N threads that run one function each. N may exceed the number of cores.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace berth::server {

class Team {
 public:
  using Body = std::function<void(std::uint32_t)>;

  /// Calls `prepare` and then `body` on each of `threads` threads, both with the thread's number. Returns when all have
  /// prepared. Neither may throw.
  /// Throws std::system_error, before any call, if the system cannot create the threads.
  Team(std::uint32_t threads, Body prepare, Body body);
  Team(std::uint32_t threads, Body body)
      : Team(
            threads, [](std::uint32_t) {}, std::move(body)) {}
  /// Waits until every call has returned.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

 private:
  struct Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace berth::server
