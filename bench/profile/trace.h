// A profile as a trace in the format of Chrome's tracing, which Perfetto (ui.perfetto.dev) opens: a track per worker,
// one for the applier, and how many evaluations wait, over time.
#pragma once

#include "profile/session.h"

namespace berth::profile {

inline constexpr std::size_t kTraceMax = 100'000;  ///< evaluations in one trace, the first ones

/// Slices are evaluations, on the track of the worker that decided them, from the start of the last attempt to its
/// plan; inside them stages laid end to end with the time they took in sum. On the applier's track: check and commit.
/// Times in us of the run's clock. Needs Options::keep_samples.
[[nodiscard]] std::string to_trace(const Profile& profile);

/// Evaluations that were due and not over, as (ns, number) at each change, in order of time.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> waiting_over_time(const std::vector<Sample>& samples);

}  // namespace berth::profile
