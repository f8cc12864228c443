// Ranking strategies and a preemption rule of the user's own, in their own translation unit.
#pragma once

#include <berth/preemption.h>
#include <berth/strategy.h>

/// Adds "keep-gpus": nodes without GPUs first for tasks without them, then the fullest in memory. Parameter `weight`
/// says what a free GPU counts.
void add_keep_gpus(berth::strategy::Registry& registry);

/// A built-in formula written once more: "own-least-max".
void add_own_least_max(berth::strategy::Registry& registry);

/// Adds "youngest-first": the latest start goes first, on the node that loses the least run time.
void add_youngest_first(berth::strategy::PreemptionRegistry& registry);
