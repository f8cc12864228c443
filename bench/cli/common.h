// What the commands share: how an error is told, and that files can be written is found out before the work.
#pragma once

#include <string>

#include "berth/result.h"

namespace berth::cli {

/// Prints the error as one line on standard error and returns `exit_code`.
int report_error(const InputError& error, int exit_code);

/// Whether `path` can be a file to write: its folder exists and it is no folder itself. "" = nothing to write.
[[nodiscard]] Result<void> check_output(const std::string& path);

}  // namespace berth::cli
