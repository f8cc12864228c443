// Blocks of IP addresses as a node's deprecated task networks name them: parsed, walked and printed as Go does, because
// ports are looked up by the exact address text (R-MODEL-495, R-RANK-623).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::rank {

/// An address; IPv4 uses the first four bytes.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  bool v4 = false;
  [[nodiscard]] int size() const { return v4 ? 4 : 16; }
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// Dotted, or hexadecimal with the longest run of zero groups left out; addresses that map IPv4 print dotted.
[[nodiscard]] std::string to_text(const IpAddress& address);
/// The address that follows; the last one of all is followed by the first.
[[nodiscard]] IpAddress next(IpAddress address);

/// first..last, both included: the block's network address and its last address.
struct CidrBlock {
  IpAddress first, last;
};

/// `10.0.0.7/24` gives 10.0.0.0 to 10.0.0.255. No value for anything that is no address, slash and prefix length.
[[nodiscard]] std::optional<CidrBlock> parse_cidr(std::string_view text);

}  // namespace berth::rank
