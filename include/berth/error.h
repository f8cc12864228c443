// Texts of the engine's errors, for messages and logs.
//
//   if (auto plan = cluster.schedule("default", "web"); !plan)
//     std::puts(berth::line(plan.error()).c_str());          // unknown_object: no job web
#pragma once

#include <string>

#include "berth/result.h"

namespace berth {

/// The name of a code as in the header: "unknown_object".
[[nodiscard]] const char* to_text(Errc code) noexcept;

/// One line: the code's name, and the text or, if empty, the subject's number.
[[nodiscard]] std::string line(const Error& error);

}  // namespace berth
