// Web tokens (RFC 7515, 7519): three parts in base64 for URLs, and their verification with public keys. Uses OpenSSL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/json.h"

namespace berth::http {

/// Base64 for URLs, without padding (RFC 7515).
[[nodiscard]] std::string to_base64url(std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_base64url(std::string_view text);

/// The claims of a token for an auth method of type JWT, or why it is not valid. `config`: the method's, with all keys
/// (R-STORE-112), of which the keys, algorithms, audiences, issuers and leeways count. `now_ns`: unix time.
[[nodiscard]] tl::expected<json::Value, std::string> verified_claims(std::string_view token, const json::Value& config,
                                                                     std::int64_t now_ns);

}  // namespace berth::http
