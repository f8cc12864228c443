// Options that make decisions differ from today's Nomad: its quirks, behaviour of earlier versions, and behaviour that
// only its documentation describes (R-SEED-1 to 98). With the defaults berth is today's Nomad; each option changes
// exactly what its own rules name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/result.h"
#include "model/quirks.h"
#include "model/resources.h"

namespace berth::model {

struct Options {
  Quirks quirks;              ///< `compat` for all together, `quirk.NAME` for one; independent of the others
  bool remote_tasks = false;  ///< handles of remote tasks go with lost and migrating allocations (R-SEED-10 to 18)
  /// Drivers whose tasks run in a remote system (R-SEED-11); only clients read it (R-SEED-13, 19 to 21).
  std::vector<std::string> remote_task_drivers;
  bool staggered_system_updates = false;   ///< system_rolling_update = stagger (R-SEED-30 to 39)
  bool strict_ready_updates = false;       ///< reports from ready nodes only (R-SEED-50 to 53)
  bool disconnect_support = true;          ///< R-SEED-60 to 63
  bool legacy_disconnect_fields = false;   ///< R-SEED-70 to 73
  bool keep_stop_description = false;      ///< R-SEED-75, 76
  std::int64_t preemption_min_delta = 10;  ///< R-SEED-80, 81; >= 0
  bool seed_system_reporting = false;      ///< system_reporting = seed (R-SEED-85 to 87)
  std::int64_t plan_id_length = 36;        ///< R-SEED-90; 1 to 36
  /// Avoids dynamic ports that a plan takes from stopping allocations, if other ports are free. Nomad draws ports at
  /// random (R-MODEL-490) and so seldom hits them; recordings take the lowest free ones (R-MODEL-491). Always on for
  /// clusters with clients.
  bool spare_leaving_ports = false;
  friend bool operator==(const Options&, const Options&) = default;
};

/// One option: its name, its values and its effect.
struct OptionInfo {
  std::string_view name;
  std::string_view values;  ///< as the user writes them, the default first
  std::string_view rules;
  std::string_view text;
  bool (*set)(Options&, std::string_view value);  ///< returns false if the value is not valid
  std::string (*get)(const Options&);
};

/// All but `compat` and the quirks (kQuirks), in the order of R-SEED-1.
[[nodiscard]] std::span<const OptionInfo> option_infos();

/// Sets one option from `name=value`. `compat=fixed` switches all quirks off, `quirk.NAME=off` a single one; later
/// assignments override earlier ones. Unknown names and values are input errors, returned as one line of text
/// (R-SEED-1).
[[nodiscard]] Result<void, std::string> set_option(Options& options, std::string_view assignment);

/// Names and values of the options that are not at their default, as recorded in results. The quirks come first, as
/// `compat` and those that differ from it, then the others in the order of R-SEED-1. Passing each to set_option()
/// restores `options`.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> changed_options(const Options& options);

/// Moves the group fields of older job files into the disconnect block and clears them (R-SEED-71). Must run before the
/// defaults of the block are filled in. Returns why the job is refused (R-SEED-72), or "".
[[nodiscard]] std::string take_legacy_disconnect_fields(Job& job);

}  // namespace berth::model
