// Reading files, plain or gzip, whole or by line. Writing them is in io/output.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::io {

/// Content of a file. Gzip is unpacked and a UTF-8 byte order mark removed. "-" is standard input, which is read once
/// and then cached. Error: more than read_limit() bytes, packed or unpacked.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// Calls `each(line, number)` for every non-empty line (numbers from 1); stops when it returns false.
[[nodiscard]] Result<void> read_lines(const std::string& path,
                                      const std::function<bool(std::string_view line, std::size_t number)>& each);

/// Largest accepted file: 1 GiB by default. One value per process; set it before reading.
[[nodiscard]] std::uint64_t read_limit();
void set_read_limit(std::uint64_t bytes);

/// Parses "512M", "4G" or "1000000": bytes, KiB (K), MiB (M), GiB (G) or TiB (T); at least 1 byte.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
/// Formats a size: "1 GiB", "1.5 MiB", "700 bytes".
[[nodiscard]] std::string size_words(std::uint64_t bytes);

}  // namespace berth::io
