// What must be done where a signal ends the program at once.
#pragma once

namespace berth::run {

/// `hook` is called in the handler of a signal just before the program ends: only what is safe there. One for the whole
/// program; null: none.
void set_end_hook(void (*hook)());

}  // namespace berth::run
