// Hook for signals that end the program at once.
#pragma once

namespace berth::run {

/// `hook` is called in the signal handler just before the program ends: only async-signal-safe calls. One for the whole
/// program; null: none.
void set_end_hook(void (*hook)());

}  // namespace berth::run
