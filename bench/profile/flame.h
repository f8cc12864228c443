// Flame graphs: collapsed stacks (lines "a;b;c 12") from perf if the kernel permits sampling, else from the stage
// sampler, and their SVG file.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "profile/session.h"
#include "run/programs.h"

namespace berth::profile {

/// Samples this process with perf from construction to stop(). perf unwinds copies of the stack.
class PerfSampler {
 public:
  PerfSampler();
  ~PerfSampler();
  PerfSampler(const PerfSampler&) = delete;
  PerfSampler& operator=(const PerfSampler&) = delete;
  /// Ends sampling. Returns the stacks, or none, with the reason in `why()`.
  [[nodiscard]] Stacks stop();
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  void end();
  pid_t child_ = -1;
  run::TemporaryFile samples_;
  std::string why_;
};

/// Collapses the output of `perf script -F comm,ip,sym`.
[[nodiscard]] Stacks collapse_perf_script(std::string_view text);
/// The stages of a profile, in us.
[[nodiscard]] Stacks collapse_stages(const Profile& profile);

[[nodiscard]] std::string to_text(const Stacks& stacks);
/// Frames as boxes, the root at the bottom, width proportional to weight, with titles. Self-contained.
[[nodiscard]] std::string to_svg(const Stacks& stacks, const std::string& title, const std::string& unit);

}  // namespace berth::profile
