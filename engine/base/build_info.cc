#include "base/build_info.h"

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
  std::string out = "berth ";
  out.append(info.version).append("\ncommit    ").append(info.commit);
  out.append("\ncompiler  ").append(info.compiler).append("\nflags     ").append(info.flags).append("\nISA paths ");
  for (const std::string& path : isa_paths_compiled()) out.append(path).append(" ");
  out.back() = ';';
  return out.append(" in use ").append(isa_path_used());
}

}  // namespace berth::base
