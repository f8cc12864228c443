#include "base/build_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/targets.h>

namespace berth::base {

namespace {

/// Highway's better targets have the lower bits.
std::vector<std::string> names(std::int64_t targets) {
  std::vector<std::string> out;
  for (; targets != 0; targets &= targets - 1) out.emplace_back(hwy::TargetName(targets & -targets));
  return out;
}

}  // namespace

// Highway's target list is the same for every file compiled with these flags.
std::vector<std::string> isa_paths_compiled() { return names(HWY_TARGETS); }

std::vector<std::string> isa_paths_usable() {
  std::vector<std::string> out;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) out.emplace_back(hwy::TargetName(target));
  return out;
}

std::string isa_path_used() {
  const std::int64_t usable = HWY_TARGETS & hwy::SupportedTargets();
  return usable == 0 ? "none" : hwy::TargetName(usable & -usable);
}

bool use_isa_path(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  for (std::int64_t left = HWY_TARGETS & hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    if (hwy::TargetName(target) != name) continue;
    hwy::SetSupportedTargetsForTest(target);
    return true;
  }
  return name.empty();
}

std::string version_text() {
  const BuildInfo& info = build_info();
  return fmt::format("berth {}\ncommit    {}\ncompiler  {}\nflags     {}\nISA paths {}; in use {}", info.version,
                     info.commit, info.compiler, info.flags, fmt::join(isa_paths_compiled(), " "), isa_path_used());
}

}  // namespace berth::base
