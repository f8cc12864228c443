#include "base/build_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/targets.h>

namespace berth::base {

std::vector<std::string> isa_paths_compiled() {
  std::vector<std::string> out;
  // Highway's better targets have the lower bits. Its target list is the same for every file compiled with these flags.
  for (std::int64_t targets = HWY_TARGETS; targets != 0; targets &= targets - 1)
    out.emplace_back(hwy::TargetName(targets & -targets));
  return out;
}

std::string isa_path_used() {
  const std::int64_t usable = HWY_TARGETS & hwy::SupportedTargets();
  return usable == 0 ? "none" : hwy::TargetName(usable & -usable);
}

std::string version_text() {
  const BuildInfo& info = build_info();
  return fmt::format("berth {}\ncommit    {}\ncompiler  {}\nflags     {}\nISA paths {}; in use {}", info.version,
                     info.commit, info.compiler, info.flags, fmt::join(isa_paths_compiled(), " "), isa_path_used());
}

}  // namespace berth::base
