// Required members per kind of vector.
#pragma once

#include <string_view>

namespace berth::conform {

/// Required members of a kind, as space-separated paths from the line ("in/count out"). "": unknown kind.
[[nodiscard]] std::string_view required_members(std::string_view kind);

}  // namespace berth::conform
