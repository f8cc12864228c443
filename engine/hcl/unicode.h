// Unicode as HCL counts and compares it: NFC, grapheme clusters, UTF-8 checks (utf8proc). ASCII has a fast path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::hcl {

[[nodiscard]] bool is_utf8(std::string_view text);
/// Normal form C of valid UTF-8; bytes that are not UTF-8 become U+FFFD, as in Go's conversion of strings.
[[nodiscard]] std::string nfc(std::string_view text);

/// End of the grapheme cluster that starts at `begin`; `begin` < text.size(). CR LF is one cluster.
[[nodiscard]] std::size_t grapheme_end(std::string_view text, std::size_t begin);
[[nodiscard]] std::size_t grapheme_count(std::string_view text);

/// Decodes the code point at `at` and advances past it; invalid bytes give U+FFFD and advance by one.
[[nodiscard]] char32_t next_code_point(std::string_view text, std::size_t& at);
void append_utf8(std::string& out, char32_t code_point);

[[nodiscard]] bool is_identifier_start(char32_t c);     ///< ID_Start or '_' (R-HCL-24)
[[nodiscard]] bool is_identifier_continue(char32_t c);  ///< ID_Continue or '-'
[[nodiscard]] bool is_space(char32_t c);                ///< White_Space

}  // namespace berth::hcl
