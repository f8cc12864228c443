#include "cli/common.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

namespace berth::cli {

namespace fs = std::filesystem;

int report_error(const InputError& error, int exit_code) {
  fmt::print(stderr, "{}\n", error.line());
  return exit_code;
}

Result<void> check_output(const std::string& path) {
  if (path.empty()) return {};
  std::error_code error;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    return tl::unexpected(InputError{path, "", "its folder does not exist", "create it or name another file"});
  if (fs::is_directory(path, error)) return tl::unexpected(InputError{path, "", "is a folder", "name a file"});
  return {};
}

}  // namespace berth::cli
