// Text as Go reads and prints it: numbers, quoting, white space. Nomad's messages and comparisons depend on every
// detail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::base {

/// Signed decimal integer: optional sign, digits, nothing else, within int64 (R-FEAS-612).
[[nodiscard]] std::optional<std::int64_t> parse_int64(std::string_view text);
/// Unsigned decimal integer: digits only, within uint64.
[[nodiscard]] std::optional<std::uint64_t> parse_uint64(std::string_view text);
/// Go floating-point text: decimal, hexadecimal, underscores, inf, nan; overflow is a failure (R-FEAS-613).
[[nodiscard]] std::optional<double> parse_double(std::string_view text);
/// Boolean texts: 1 t T true TRUE True / 0 f F false FALSE False (R-FEAS-802).
[[nodiscard]] std::optional<bool> parse_bool(std::string_view text);

/// Double-quoted as Go's %q does it (R-FEAS-1009).
[[nodiscard]] std::string go_quote(std::string_view text);
/// ASCII letters to lower case; other characters unchanged.
[[nodiscard]] constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
/// At most 40 bytes of a text from a file, with `?` for anything but printable ASCII, for one-line messages.
[[nodiscard]] std::string shown(std::string_view text);
/// Strips leading and trailing Unicode white space (R-FEAS-651).
[[nodiscard]] std::string_view trim_space(std::string_view text);
/// Splits at every occurrence of `separator`; "" gives one empty piece.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);
/// Appends a text preceded by its length, "4:text". Use it for keys made of several texts: a plain separator may
/// occur in a user's text, and two different lists would then give one key.
void append_sized(std::string& out, std::string_view text);

/// `*` matches any run of bytes, every other character only itself; anchored at both ends (R-MODEL-287, R-FEAS-107).
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace berth::base
