// Beginnings of UUIDs, as lists are asked for by them (R-API-80).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/uuid.h"

namespace berth::serve {

class IdPrefix {
 public:
  /// The error is what Nomad's index says, without the name of the look-up in front.
  [[nodiscard]] static tl::expected<IdPrefix, std::string> parse(std::string_view text);
  [[nodiscard]] bool matches(base::Uuid id) const {
    return (id.hi & high_mask_) == high_ && (id.lo & low_mask_) == low_;
  }
  [[nodiscard]] bool empty() const { return high_mask_ == 0; }

 private:
  std::uint64_t high_ = 0, low_ = 0, high_mask_ = 0, low_mask_ = 0;
};

}  // namespace berth::serve
