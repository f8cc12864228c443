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
/// Those of them that the processor of this machine has, best first.
[[nodiscard]] std::vector<std::string> isa_paths_usable();
/// The path that this machine takes: the best one that is compiled in and that the processor has.
[[nodiscard]] std::string isa_path_used();
/// From now on kernels take the path `name` (as isa_paths_compiled names it) and no better one; "" lifts that. Every
/// path decides the same; this is for comparing them. False, and back to the best path, when it is not compiled in or
/// the processor lacks it. Not while another thread runs a kernel.
[[nodiscard]] bool use_isa_path(std::string_view name);

/// All of it as the lines that `berth --version` prints, without a final newline.
[[nodiscard]] std::string version_text();

}  // namespace berth::base
