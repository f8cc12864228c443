// `berth record`: follows the event stream of an agent into a file (recording.h).
//
// The stream is opened first and read by a thread. Then the cluster is read in one pass, as `berth import` does.
// Changes made meanwhile are in the stream, so both together give one state at one index, however busy the cluster is.
// A broken connection is continued from the last index. If the agent no longer has that index, the gap is recorded and
// the cluster is read again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/sources.h"

namespace berth::record {

struct Settings {
  std::string address, path;
  std::vector<std::string> topics;  ///< "Topic" or "Topic:key"; empty: everything that decisions read
  bool redact = false;              ///< inputs of tasks are replaced by numbered words
  std::int64_t length_ns = 0;       ///< 0: until interrupted
  /// a connection without a byte for so long is broken. Nomad sends one every 30 s (R-API-581)
  double silence_s = 75;
  agent::SourceOptions sources;
};

struct Summary {
  std::uint64_t frames = 0, events = 0, first_index = 0, last_index = 0, bytes = 0;
  std::uint64_t reconnects = 0, gaps = 0, skipped = 0;
  bool interrupted = false;
  std::string write_error;  ///< why the file could not be written completely; "" if it was
};

/// Records until the time is over or the program is interrupted. `say` receives a line per event of the connection.
/// Error: the agent cannot be reached or refuses before anything was recorded.
[[nodiscard]] Result<Summary> record(const Settings& settings, const std::function<void(const std::string&)>& say);

}  // namespace berth::record
