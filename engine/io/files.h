// Reading files, plain or gzip, whole or by line; writing files that appear whole or not at all.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::io {

/// Whole content of a file; a gzip file is unpacked.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// Calls `each(line, number)` for every non-empty line (numbers from 1); stops when it returns false.
[[nodiscard]] Result<void> read_lines(const std::string& path,
                                      const std::function<bool(std::string_view line, std::size_t number)>& each);

/// Writes to a temporary name in the same folder, flushes and renames: a reader sees the old file or the new one, and a
/// full disk leaves the old one intact.
[[nodiscard]] Result<void> write_file_atomically(const std::string& path, std::string_view content);

}  // namespace berth::io
