// Prefixes of UUIDs, which select rows of lists (R-API-80).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/uuid.h"

namespace berth::http {

class IdPrefix {
 public:
  /// The error is that of Nomad's index, without the name of the lookup before it.
  [[nodiscard]] static tl::expected<IdPrefix, std::string> parse(std::string_view text);
  [[nodiscard]] bool matches(base::Uuid id) const {
    return (id.hi & high_mask_) == high_ && (id.lo & low_mask_) == low_;
  }
  [[nodiscard]] bool empty() const { return high_mask_ == 0; }

 private:
  std::uint64_t high_ = 0, low_ = 0, high_mask_ = 0, low_mask_ = 0;
};

}  // namespace berth::http
