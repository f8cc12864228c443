// LineStream: reads the lines of an endless answer of an agent, such as /v1/event/stream, on its own thread. So the
// connection is drained even while the user is busy; an agent closes the stream of a slow reader.
//
// Threads: one caller of next(); the thread inside only fills the queue. It waits while kQueueBytes are unread, so that
// memory is bounded and the agent notices.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent/connection.h"

namespace berth::agent {

class LineStream {
 public:
  static constexpr std::size_t kQueueBytes = std::size_t{256} << 20;

  /// Requests `path`. `silence_s`: seconds without a byte after which the connection counts as broken.
  LineStream(std::unique_ptr<Connection> connection, std::string path, double silence_s);
  ~LineStream();
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;

  enum class Got : std::uint8_t { line, nothing, ended };
  /// Waits at most `wait` for the next line, returned without its line end. `ended`: there are no more; end() has the
  /// reason.
  [[nodiscard]] Got next(std::string& line, std::chrono::milliseconds wait);
  /// After `ended`: the reason, in one line. Mentions a last line that was cut off.
  [[nodiscard]] const InputError& end() const { return end_; }
  /// After `ended`: the status of the answer, 0 without one.
  [[nodiscard]] int status() const { return status_; }

 private:
  void read();
  bool take(std::string_view piece);

  const std::unique_ptr<Connection> connection_;
  const std::string path_;
  const double silence_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;  // under the mutex, like those below
  std::size_t bytes_ = 0;
  bool ended_ = false;
  std::string part_;  // of a line; used by the thread only
  InputError end_;    // written before ended_
  int status_ = 0;
  std::atomic<bool> unwanted_{false};
  std::thread thread_;
};

}  // namespace berth::agent
