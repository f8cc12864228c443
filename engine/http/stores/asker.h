// The sender of a request (R-STORE-61 to 67).
#pragma once

#include <cstdint>
#include <memory>

namespace berth::http {

class Rights;
struct AclToken;

struct Asker {
  enum class Kind : std::uint8_t {
    everybody,  ///< no access control
    anonymous,
    token,
    expired,
    unknown,   ///< a UUID of no token
    identity,  ///< a text that this server signed, without rights
    garbage
  };
  Kind kind = Kind::everybody;
  std::shared_ptr<const AclToken> token;  ///< also if expired
  std::shared_ptr<const Rights> rights;   ///< null: everything is allowed (everybody)

  [[nodiscard]] bool is_known() const {
    return kind != Kind::expired && kind != Kind::unknown && kind != Kind::garbage;
  }
  [[nodiscard]] bool is_management() const;
};

}  // namespace berth::http
