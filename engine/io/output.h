// Files that berth writes: whole or not at all where that can be, and never over something that is no file.
//
// `-`, /dev/stdout and the like are standard output. A regular file, or a path where nothing is yet, is written under a
// name of its own in the same folder and renamed: a reader sees the old file or the new one, and a full disk leaves the
// old one intact. Symbolic links are followed; permissions and owner of the old file stay. Devices, pipes, files with
// several names and files in a folder that cannot be written are written through, as a shell's `>` does.
//
// Threads: different paths may be written by different threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::io {

/// Whether the path means standard output.
[[nodiscard]] bool is_standard_output(const std::string& path);

/// Finds out whether `path` can be written, by making the file under its other name and removing it; half files that a
/// killed process left there are removed as well. Errors name the path and the remedy.
[[nodiscard]] Result<void> check_output(const std::string& path);

/// Writes the whole content. Standard output is flushed.
[[nodiscard]] Result<void> write_output(const std::string& path, std::string_view content);

/// The same for one of many small files in a folder that berth keeps, each of which can be made again: it is not waited
/// for until the disk has it. A killed process leaves the file whole or absent as well; a power cut may leave it cut
/// off. What killed processes left in the folder is not looked for every time, but by remove_left_overs().
[[nodiscard]] Result<void> write_one_of_many(const std::string& path, std::string_view content);
void remove_left_overs(const std::string& folder);

/// The same file has the same identity, by whatever name: what it is on disk, or where it would come to be. None for
/// what may be named several times (devices, pipes) and for standard output that is no regular file.
[[nodiscard]] std::optional<std::string> file_identity(const std::string& path);

/// How many files are being written at this moment; read by the handler of signals, which waits for none.
[[nodiscard]] int outputs_in_progress() noexcept;

}  // namespace berth::io
