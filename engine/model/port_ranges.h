// Parses texts such as `22,80-90`, which list the ports that a node reserves for itself (R-MODEL-472, R-RANK-604).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"

namespace berth::model {

inline constexpr std::uint32_t kPortCount = 65536;  ///< size of a port bitmap (R-MODEL-50)

/// Ports begin..end, both included. `end` may be 65536, which the text allows and a node must not have (R-MODEL-473).
struct PortRange {
  std::uint32_t begin = 0, end = 0;
  friend bool operator==(const PortRange&, const PortRange&) = default;
};

/// The ranges in the order of the text, repetitions included; "" gives none. The error is the reference's text.
[[nodiscard]] Result<std::vector<PortRange>, std::string> parse_port_ranges(std::string_view text);

}  // namespace berth::model
