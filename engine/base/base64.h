// Base64 (RFC 4648, with padding), the form in which the API writes bytes. Uses OpenSSL's libcrypto.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::base {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Returns nullopt if the text is not padded Base64.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace berth::base
