// Writes files: atomically where possible, and never over something that is no regular file.
//
// `-`, /dev/stdout and similar names are standard output. A regular file, or a path that does not exist yet, is written
// under a temporary name in the same folder and renamed. So a reader sees the old file or the new one, and a full disk
// leaves the old one intact. Symbolic links are followed; permissions and owner of the old file stay. Devices, pipes,
// files with several links and files in a read-only folder are written in place, as a shell's `>` does.
//
// Threads: different paths may be written by different threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::io {

/// True if the path means standard output.
[[nodiscard]] bool is_standard_output(const std::string& path);

/// Tests whether `path` can be written, by creating and removing the temporary file. Also removes temporary files that
/// a killed process left. Errors name the path and the remedy.
[[nodiscard]] Result<void> check_output(const std::string& path);

/// Writes the whole content. Standard output is flushed.
[[nodiscard]] Result<void> write_output(const std::string& path, std::string_view content);

/// Identity of a file: equal for two paths to the same file, or to the same future file. None for devices and pipes,
/// and for standard output unless it is a regular file.
[[nodiscard]] std::optional<std::string> file_identity(const std::string& path);

/// Number of files being written now; read by the signal handler, which does not wait for them.
[[nodiscard]] int outputs_in_progress() noexcept;

}  // namespace berth::io
