// N threads that run one function each, on a oneTBB arena of their own; more than cores are allowed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace berth::server {

class Team {
 public:
  /// Starts `threads` calls of `body`, each with its number, each on a thread of its own, and returns. `body` must not
  /// throw. Throws std::system_error, before any call, where the system makes fewer threads.
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
