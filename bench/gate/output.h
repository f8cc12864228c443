// Formats a verdict: lines for the terminal, Markdown for a pull request, JUnit's XML, JSON
// (bench/schema/berth-gate.json).
#pragma once

#include "gate/profile.h"
#include "gate/session.h"

namespace berth::gate {

inline constexpr int kGateVersion = 1;

struct Described {
  std::string base, head;  ///< commands, or files
  const Session* session = nullptr;
  Rules rules;
  std::uint64_t seed = 0;
  std::vector<Profile> profiles = {};  ///< of cases that got slower
};

/// "case metric: got X, want <= Y (base Z, +D %, noise N %, n = K)" with <= or >=.
[[nodiscard]] std::string finding_line(const Finding& finding);
/// Machine and sides, every metric that did not simply pass, stages, and last the verdict.
[[nodiscard]] std::string to_terminal(const Described& what);
[[nodiscard]] std::string to_markdown(const Described& what);
/// One suite per case, one test per metric: a regression is a failure, an inconclusive metric is skipped.
[[nodiscard]] std::string to_junit(const Described& what);
[[nodiscard]] json::Value to_json(const Described& what);

}  // namespace berth::gate
