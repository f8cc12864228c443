// Which build this is: what `berth --version` prints and what every report names beside its numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::base {

/// What the build system knew. The texts live as long as the program.
struct BuildInfo {
  std::string_view version;     ///< project version, "0.1.0"
  std::string_view commit;      ///< git commit in full, "-dirty" appended when the tree differed; "unknown" without git
  std::string_view compiler;    ///< "GNU 12.2.0"
  std::string_view flags;       ///< build type, language standard and options, as the compiler was given them
  std::string_view build_type;  ///< "Release"
  std::string_view sanitize;    ///< sanitizers built in, comma separated, or ""
};
[[nodiscard]] const BuildInfo& build_info();

/// The instruction set paths of the SIMD kernels, Highway's names, best first ("AVX3_ZEN4", "AVX2", ...).
[[nodiscard]] std::vector<std::string> isa_paths_compiled();
/// The path that this machine takes: the best one that is compiled in and that the processor has.
[[nodiscard]] std::string isa_path_used();

/// All of it as the lines that `berth --version` prints, without a final newline.
[[nodiscard]] std::string version_text();

}  // namespace berth::base
