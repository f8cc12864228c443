// Replays a stream: a whole run with evolving state, one evaluation per line (tests/golden/README.md).
//
// Each evaluation is decided twice: by the worker of a server whose tables and caches exist during the whole stream,
// and by a new server that has just loaded the state. Both results must equal the recorded one. Changes of the state by
// a plan are read as deltas from the line or the attempt. The loaded server also commits its plan, and its claims on
// sticky volumes must equal those of the next line's delta.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "conform/streams/stream_state.h"
#include "conform/vector.h"

namespace berth::conform {

class StreamReplay {
 public:
  ~StreamReplay();
  StreamReplay(const StreamReplay&) = delete;
  StreamReplay& operator=(const StreamReplay&) = delete;

  /// True if the first line of a file begins a stream.
  [[nodiscard]] static bool begins(const Field& line) { return line.has("init"); }
  /// Loads the state of the first line, line `number` of the file.
  [[nodiscard]] static Result<std::unique_ptr<StreamReplay>> begin(const Field& line, const std::string& path,
                                                                   std::size_t number,
                                                                   sched::EnabledSources sources = {});
  /// Replays the next line. `loads`: also on the freshly loaded state, which costs a load of the whole state.
  [[nodiscard]] Result<Outcome> next(const Field& line, std::size_t number, bool loads = true);

 private:
  struct Live;
  StreamReplay(std::string path, sched::EnabledSources sources);

  /// Compares the claims of the last commit with those of the delta.
  void compare_claims(const StreamDelta& delta, std::vector<Difference>& differences);

  const std::string path_;
  StreamState state_;
  std::unique_ptr<Live> live_;
  std::optional<std::set<std::string>> claims_;  // of the last line's plan, as text; nullopt: it was not committed
};

}  // namespace berth::conform
