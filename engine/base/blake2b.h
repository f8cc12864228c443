// BLAKE2b without a key (RFC 7693), 32 bytes of digest: the hashes that Nomad prints of node pools and namespaces.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace berth::base {

[[nodiscard]] std::array<std::uint8_t, 32> blake2b_256(std::string_view data);

}  // namespace berth::base
