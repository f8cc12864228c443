// Random values that nobody must be able to guess: secrets, and identifiers that serve as such.
#pragma once

#include <string>

namespace berth::serve {

/// A version 4 UUID from the operating system's generator.
[[nodiscard]] std::string fresh_uuid();

}  // namespace berth::serve
