// Berth's built-in strategies by name. `berth compare --list` prints them with formula, source and cost.
#pragma once

#include "berth/strategy.h"

namespace berth::strategy {

void add_builtin(Registry& into);

}  // namespace berth::strategy
