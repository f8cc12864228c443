// How decisions may differ from today's Nomad: its quirks, and options for behaviour that Nomad had earlier or that its
// documentation tells differently (R-SEED-1 to 98). With all of them at their defaults berth is today's Nomad; each
// changes exactly what its own rules name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/result.h"
#include "model/job.h"
#include "model/quirks.h"

namespace berth::model {

struct Options {
  Quirks quirks;              ///< `compat` for all together, `quirk.NAME` for one; independent of the others
  bool remote_tasks = false;  ///< handles of remote tasks go with lost and migrating allocations (R-SEED-10 to 18)
  /// Whose tasks run in a system of their own (R-SEED-11); only clients read it (R-SEED-13, 19 to 21).
  std::vector<std::string> remote_task_drivers;
  bool staggered_system_updates = false;   ///< system_rolling_update = stagger (R-SEED-30 to 39)
  bool strict_ready_updates = false;       ///< reports from ready nodes only (R-SEED-50 to 53)
  bool disconnect_support = true;          ///< R-SEED-60 to 63
  bool legacy_disconnect_fields = false;   ///< R-SEED-70 to 73
  bool keep_stop_description = false;      ///< R-SEED-75, 76
  std::int64_t preemption_min_delta = 10;  ///< R-SEED-80, 81; >= 0
  bool seed_system_reporting = false;      ///< system_reporting = seed (R-SEED-85 to 87)
  std::int64_t plan_id_length = 36;        ///< R-SEED-90; 1 to 36
  /// Dynamic ports other than those that a plan takes from stopping allocations, where others are free. Nomad draws
  /// ports at random (R-MODEL-490) and so seldom meets them; recordings take the lowest free ones (R-MODEL-491).
  /// Clusters with clients always have it.
  bool spare_leaving_ports = false;
  friend bool operator==(const Options&, const Options&) = default;
};

/// One option by name: what is written for it, and what it does.
struct OptionInfo {
  std::string_view name;
  std::string_view values;  ///< as one writes them, the default first
  std::string_view rules;
  std::string_view text;
  bool (*set)(Options&, std::string_view value);  ///< whether the value is one of them
  std::string (*get)(const Options&);
};

/// All but `compat` and the quirks (kQuirks), in the order of R-SEED-1.
[[nodiscard]] std::span<const OptionInfo> option_infos();

/// Sets one option from `name=value`, of which `compat=fixed` switches all quirks off, `quirk.NAME=off` one; later ones
/// go over earlier ones. A text of one line says why not: unknown names and values are input errors (R-SEED-1).
[[nodiscard]] Result<void, std::string> set_option(Options& options, std::string_view assignment);

/// Names and values of those that are not at their default: what a result records. The quirks come first, as `compat`
/// and those that differ from it, then the others in the order of R-SEED-1. set_option() of each gives `options` again.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> changed_options(const Options& options);

/// Moves the group fields of older job files into the disconnect block and clears them (R-SEED-71). Comes before the
/// defaults of the block. The text says why the job is refused (R-SEED-72), or is "".
[[nodiscard]] std::string take_legacy_disconnect_fields(Job& job);

}  // namespace berth::model
