// LineStream: lines of an endless answer of an agent, such as /v1/event/stream, read by a thread of its own. So the
// connection is drained while its user is busy; an agent closes the stream of a slow reader.
//
// Threads: one reader of next(); the thread inside only fills the queue. A queue with kQueueBytes unread bytes makes
// the thread wait, so that memory is bounded and the agent notices.
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

  /// Begins to ask for `path`. `silence_s`: the connection counts as broken after so long without a byte.
  LineStream(std::unique_ptr<Connection> connection, std::string path, double silence_s);
  ~LineStream();
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;

  enum class Got : std::uint8_t { line, nothing, ended };
  /// The next line, without its end; waits for it at most so long. `ended`: no more will come, and why is in end().
  [[nodiscard]] Got next(std::string& line, std::chrono::milliseconds wait);
  /// After `ended`: one line. A last line without an end is named there.
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
  std::deque<std::string> lines_;  // with those below: under the mutex
  std::size_t bytes_ = 0;
  bool ended_ = false;
  std::string part_;  // of a line; the thread's
  InputError end_;    // written before ended_
  int status_ = 0;
  std::atomic<bool> unwanted_{false};
  std::thread thread_;
};

}  // namespace berth::agent
