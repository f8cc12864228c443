// Where tests find data: the project's own, and an optional folder `shared` next to the checkout.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace berth::testing {

/// Root of the checkout.
inline std::filesystem::path source_dir() { return BERTH_SOURCE_DIR; }

/// tests/golden: the recorded decisions that are part of the project.
inline std::filesystem::path golden_dir() { return source_dir() / "tests" / "golden"; }

/// A folder of further data: $BERTH_SHARED, or `shared` next to the checkout or next to its parent. It may be missing;
/// tests that need it are then skipped with a message.
inline std::optional<std::filesystem::path> shared_dir() {
  std::error_code error;
  if (const char* named = std::getenv("BERTH_SHARED"); named && *named) return std::filesystem::path(named);
  for (const char* beside : {"..", "../.."})
    if (const auto path = source_dir() / beside / "shared"; std::filesystem::is_directory(path, error))
      return path.lexically_normal();
  return std::nullopt;
}

}  // namespace berth::testing
