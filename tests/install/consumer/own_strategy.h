// A ranking strategy of one's own, in its own translation unit.
#pragma once

#include <berth/strategy.h>

/// Adds "keep-gpus": nodes without GPUs first for tasks without them, then the fullest in memory. Parameter `weight`
/// says what a free GPU counts.
void add_keep_gpus(berth::strategy::Registry& registry);

/// A built-in formula written once more: "own-least-max".
void add_own_least_max(berth::strategy::Registry& registry);
