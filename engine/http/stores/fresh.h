// Unpredictable random values: secrets, and IDs used as secrets.
#pragma once

#include <string>

namespace berth::http {

/// A version 4 UUID from the operating system's generator.
[[nodiscard]] std::string fresh_uuid();

}  // namespace berth::http
