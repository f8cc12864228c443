// Base64 (RFC 4648, with padding), how the API writes bytes. By OpenSSL's libcrypto.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::base {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Nothing: the text is not such a form of any bytes.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace berth::base
