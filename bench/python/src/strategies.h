#pragma once

#include <string>

#include "module.h"

namespace berth::python {

/// Registers a function over arrays as a strategy with a generated name, which is returned.
[[nodiscard]] std::string add_function(const py::function& function);

/// Throws the exception that a Python strategy raised on this thread since the last call. Requires the interpreter's
/// lock.
void rethrow_raised();

}  // namespace berth::python
