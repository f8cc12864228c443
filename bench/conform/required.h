// What a vector of each kind cannot do without.
#pragma once

#include <string_view>

namespace berth::conform {

/// Members that every vector of the kind has, as paths from the line with a blank between them ("in/count out"). "":
/// the kind is not known.
[[nodiscard]] std::string_view required_members(std::string_view kind);

}  // namespace berth::conform
