// `berth record`: follows the event stream of an agent into a file (recording.h).
//
// The stream is opened first and read by a thread; then the cluster is read as `berth import` reads it, in one pass.
// What changes meanwhile is in the stream, so the two together are one state at one index, however busy the cluster is.
// A connection that breaks is made again from the last index. If the agent no longer has that index, the gap is named
// and the cluster is read again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/sources.h"

namespace berth::record {

struct Settings {
  std::string address, path;
  std::vector<std::string> topics;  ///< "Topic" or "Topic:key"; empty: all that decisions read
  bool redact = false;              ///< task inputs become numbered words
  std::int64_t length_ns = 0;       ///< 0: until interrupted
  double silence_s = 75;            ///< without a byte, a connection is broken. Nomad sends one every 30 s (R-API-581)
  agent::SourceOptions sources;
};

struct Summary {
  std::uint64_t frames = 0, events = 0, first_index = 0, last_index = 0, bytes = 0;
  std::uint64_t reconnects = 0, gaps = 0, skipped = 0;
  bool interrupted = false;
  std::string write_error;  ///< the file could not be written to its end; "" if it could
};

/// Records until the time is over or the program is interrupted. `say` receives a line per event of the connection.
/// Error: the agent cannot be reached or refuses before anything was recorded.
[[nodiscard]] Result<Summary> record(const Settings& settings, const std::function<void(const std::string&)>& say);

}  // namespace berth::record
