#pragma once

#include <string>

#include "module.h"

namespace berth::python {

/// Makes a function over arrays a strategy with a name of its own, and returns the name.
[[nodiscard]] std::string add_function(const py::function& function);

/// Throws what a strategy written in Python raised on this thread since the last call. The interpreter's lock is held.
void rethrow_raised();

}  // namespace berth::python
