// Flame graphs: collapsed stacks ("a;b;c 12" a line) from perf where the kernel lets it sample this process, else from
// the stage sampler, and their drawing as one SVG file.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "gate/process.h"
#include "profile/session.h"

namespace berth::profile {

/// perf sampling this process from construction to stop(), stacks unwound from copies of the stack.
class PerfSampler {
 public:
  PerfSampler();
  ~PerfSampler();
  PerfSampler(const PerfSampler&) = delete;
  PerfSampler& operator=(const PerfSampler&) = delete;
  /// Ends sampling; the stacks, or none and `why()`.
  [[nodiscard]] Stacks stop();
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  void end();
  pid_t child_ = -1;
  gate::TemporaryFile samples_;
  std::string why_;
};

/// What `perf script -F comm,ip,sym` prints, collapsed.
[[nodiscard]] Stacks collapse_perf_script(std::string_view text);
/// The stages of a profile, in us.
[[nodiscard]] Stacks collapse_stages(const Profile& profile);

[[nodiscard]] std::string to_text(const Stacks& stacks);
/// Frames as boxes, the root at the bottom, as wide as their weight; the text of each is its title. Self-contained.
[[nodiscard]] std::string to_svg(const Stacks& stacks, const std::string& title, const std::string& unit);

}  // namespace berth::profile
