// The simulation's log, for readers with `nomad monitor` (R-STORE-323, 324) and for the program's own output. A line is
// made only while a reader requests its level, and none are stored.
//
//   if (log.wants(LogLevel::info))
//     log.write(LogLevel::info, now, "nomad.heartbeat", "node is down", {{"node_id", node}}, node);
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_line.h"
#include "http/endpoint.h"

namespace berth::http {

using base::LogLevel;

class MonitorLog {
 public:
  [[nodiscard]] bool wants(LogLevel level) const {
    return static_cast<int>(level) >= lowest_.load(std::memory_order_relaxed);
  }
  /// `now_ns`: virtual. `node_id`: node whose client logs the line; "": the server.
  void write(LogLevel level, std::int64_t now_ns, std::string_view module, std::string_view message,
             base::LogFields fields, std::string_view node_id = {});

  struct Reader {
    LogLevel level = LogLevel::info;
    bool plain = false, json = false;
    std::string node_id;  ///< lines of this client and of requests; "": all
    std::shared_ptr<Channel> channel;
  };
  void add(Reader reader);
  /// Hands every line from a level on to `print`, on the thread that logs it and under the log's mutex.
  void print(LogLevel level, bool json, std::function<void(std::string_view line)> print);
  [[nodiscard]] std::size_t readers();

 private:
  void note_lowest();

  static constexpr int kNone = 100;
  std::atomic<int> lowest_{kNone};  // lowest level requested by a reader
  std::mutex mutex_;
  std::vector<Reader> readers_;
  struct {
    LogLevel level = LogLevel::info;
    bool json = false;
    std::function<void(std::string_view)> print;  // none: nothing is printed
  } printed_;
};

}  // namespace berth::http
