// Identifies the build: printed by `berth --version` and recorded in every report next to its numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::base {

/// What the build system recorded. The texts live as long as the program.
struct BuildInfo {
  std::string_view version;     ///< project version, "0.2.0"
  std::string_view commit;      ///< git commit in full, "-dirty" appended when the tree differed; "unknown" without git
  std::string_view compiler;    ///< "GNU 12.2.0"
  std::string_view flags;       ///< build type, language standard and options, as passed to the compiler
  std::string_view build_type;  ///< "Release"
  std::string_view sanitize;    ///< sanitizers built in, comma separated, or ""
};
[[nodiscard]] const BuildInfo& build_info();

/// The instruction set paths of the SIMD kernels, Highway's names, best first ("AVX3_ZEN4", "AVX2", ...).
[[nodiscard]] std::vector<std::string> isa_paths_compiled();
/// Those of the compiled paths that this machine's processor supports, best first.
[[nodiscard]] std::vector<std::string> isa_paths_usable();
/// The path in use: the best one that is compiled in and that the processor supports.
[[nodiscard]] std::string isa_path_used();
/// Limits kernels to the path `name` (as isa_paths_compiled() names it) or worse; "" lifts the limit. All paths
/// decide the same; this is for comparing them. Returns false, and restores the best path, if the path is not
/// compiled in or the processor lacks it. Must not be called while another thread runs a kernel.
[[nodiscard]] bool use_isa_path(std::string_view name);

/// The whole build info as the lines that `berth --version` prints, without a final newline.
[[nodiscard]] std::string version_text();

}  // namespace berth::base
