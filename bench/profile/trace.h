// A profile as a trace in Chrome's format, which Perfetto (ui.perfetto.dev) opens: a track per worker, one for the
// applier, and the number of waiting evaluations over time.
#pragma once

#include "profile/session.h"

namespace berth::profile {

inline constexpr std::size_t kTraceMax = 100'000;  ///< maximum evaluations in a trace, the first ones

/// Slices are evaluations, on the track of the worker that decided them, from the start of the last attempt to its
/// plan. Inside each, the stages follow one another with their total times. The applier's track has check and commit.
/// Times in us of the run's clock. Needs Options::keep_samples.
[[nodiscard]] std::string to_trace(const Profile& profile);

/// Number of evaluations that were due but not done, as (ns, number) at each change, in order of time.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> waiting_over_time(const std::vector<Sample>& samples);

}  // namespace berth::profile
