// 128-bit identifiers of nodes, allocations, evaluations and deployments (R-MODEL-590).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace berth::base {

/// The 16 bytes of a UUID, most significant first in `hi`: comparing the numbers compares the lower-case texts.
struct Uuid {
  std::uint64_t hi = 0, lo = 0;
  [[nodiscard]] bool is_nil() const { return (hi | lo) == 0; }
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

[[nodiscard]] std::string to_text(Uuid id);                           ///< lower-case 8-4-4-4-12
void write_text(Uuid id, std::string& out);                           ///< the same into a string whose memory is reused
[[nodiscard]] std::optional<Uuid> parse_uuid(std::string_view text);  ///< upper or lower case; no other characters

struct UuidHash {
  std::size_t operator()(Uuid id) const noexcept {
    std::uint64_t x = id.hi ^ (id.lo * 0x9e3779b97f4a7c15ULL);
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    return static_cast<std::size_t>(x ^ (x >> 32));
  }
};

}  // namespace berth::base
