// Base64 (RFC 4648, with padding), how the API writes bytes. By OpenSSL's libcrypto.
#pragma once

#include <string>
#include <string_view>

namespace berth::base {

[[nodiscard]] std::string to_base64(std::string_view bytes);

}  // namespace berth::base
