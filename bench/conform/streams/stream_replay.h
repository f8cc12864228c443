// Replays a stream: a whole run with evolving state, one evaluation a line (tests/golden/README.md).
//
// Each evaluation is decided twice: by the one worker of a server whose tables live through the whole stream, with all
// that its caches hold, and by a new server that has just loaded the state. Both must give what was recorded.
// What a plan makes of the state is read: the line, or the attempt, brings it as a delta. The loaded server commits its
// plan as well, and the claims on sticky volumes that this makes must be those of the next line's delta.
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

  /// Whether the first line of a file begins a stream.
  [[nodiscard]] static bool begins(const Field& line) { return line.has("init"); }
  /// Loads the state of the first line, line `number` of the file.
  [[nodiscard]] static Result<std::unique_ptr<StreamReplay>> begin(const Field& line, const std::string& path,
                                                                   std::size_t number,
                                                                   sched::EnabledSources sources = {});
  /// Replays the next line. `loads`: also on the state loaded anew, which costs a load of the whole state.
  [[nodiscard]] Result<Outcome> next(const Field& line, std::size_t number, bool loads = true);

 private:
  struct Live;
  StreamReplay(std::string path, sched::EnabledSources sources);

  /// Compares the claims of the last commit with those that the delta brings.
  void compare_claims(const StreamDelta& delta, std::vector<Difference>& differences);

  const std::string path_;
  StreamState state_;
  std::unique_ptr<Live> live_;
  std::optional<std::set<std::string>> claims_;  // in words, of the last line's plan; none: it was not committed
};

}  // namespace berth::conform
