// Nomad as it is, or without its quirks: section 5 of the specification's README lists them row by row.
#pragma once

#include <cstdint>

namespace berth::model {

enum class Compat : std::uint8_t {
  nomad,  ///< every quirk as the rules say; what recorded decisions are compared with
  fixed,  ///< the last column of section 5, all rows together
};

}  // namespace berth::model
