// N threads that run one function each, on their own oneTBB arena. N may exceed the number of cores.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace berth::server {

class Team {
 public:
  /// Starts `threads` calls of `body`, each with its number and on its own thread, and returns. `body` must not throw.
  /// Throws std::system_error, before any call, if the system cannot create the threads.
  Team(std::uint32_t threads, std::function<void(std::uint32_t)> body);
  /// Waits until every call has returned.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

 private:
  struct Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace berth::server
