// How decisions may differ from today's Nomad: `compat`, and options for behaviour that Nomad had earlier or that its
// documentation tells differently (R-SEED-1 to 98). With all of them at their defaults berth is today's Nomad; each
// changes exactly what its own rules name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/result.h"
#include "model/compat.h"
#include "model/job.h"

namespace berth::model {

struct Options {
  Compat compat = Compat::nomad;  ///< independent of the others
  bool remote_tasks = false;      ///< handles of remote tasks go with lost and migrating allocations (R-SEED-10 to 18)
  bool staggered_system_updates = false;   ///< system_rolling_update = stagger (R-SEED-30 to 39)
  bool strict_ready_updates = false;       ///< reports from ready nodes only (R-SEED-50 to 53)
  bool disconnect_support = true;          ///< R-SEED-60 to 63
  bool legacy_disconnect_fields = false;   ///< R-SEED-70 to 73
  bool keep_stop_description = false;      ///< R-SEED-75, 76
  std::int64_t preemption_min_delta = 10;  ///< R-SEED-80, 81; >= 0
  bool seed_system_reporting = false;      ///< system_reporting = seed (R-SEED-85 to 87)
  std::int64_t plan_id_length = 36;        ///< R-SEED-90; 1 to 36
  friend bool operator==(const Options&, const Options&) = default;
};

/// Sets one option from `name=value`. A text says why not: unknown names and values are input errors (R-SEED-1).
[[nodiscard]] Result<void, std::string> set_option(Options& options, std::string_view assignment);

/// Names and values of those that are not at their default, `compat` first, then in the order of R-SEED-1: what a
/// result records.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> changed_options(const Options& options);

/// Moves the group fields of older job files into the disconnect block and clears them (R-SEED-71). Comes before the
/// defaults of the block. The text says why the job is refused (R-SEED-72), or is "".
[[nodiscard]] std::string take_legacy_disconnect_fields(Job& job);

}  // namespace berth::model
