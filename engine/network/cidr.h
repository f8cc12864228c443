// IP address blocks as in a node's deprecated task networks. Parsed, iterated and printed as Go does, because ports are
// looked up by the exact address text (R-MODEL-495, R-RANK-623).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::network {

/// An address; IPv4 uses the first four bytes.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  bool v4 = false;
  [[nodiscard]] int size() const { return v4 ? 4 : 16; }
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// Dotted, or hexadecimal with the longest run of zero groups left out; IPv4-mapped addresses print dotted.
[[nodiscard]] std::string to_text(const IpAddress& address);
/// The next address; the highest one wraps to the first.
[[nodiscard]] IpAddress next(IpAddress address);

/// first..last, both included: the block's network address and its last address.
struct CidrBlock {
  IpAddress first, last;
};

/// `10.0.0.7/24` gives 10.0.0.0 to 10.0.0.255. nullopt for anything that is not an address, a slash and a prefix
/// length.
[[nodiscard]] std::optional<CidrBlock> parse_cidr(std::string_view text);

}  // namespace berth::network
