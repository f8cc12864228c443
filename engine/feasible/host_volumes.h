// Host volumes, static and dynamic, with sticky claims (R-FEAS-1101 to 1114).
#pragma once

#include <string_view>
#include <vector>

#include "feasible/volume_state.h"
#include "model/quirks.h"

namespace berth::feasible {

/// The check of one Select. Not a pure function of the node: examining a node for a sticky volume may use up claims,
/// even if the node is rejected later (R-FEAS-1112). So it must run for the nodes in visiting order. With the quirk
/// looks_use_up_claims off, examining a node uses up no claim. With single_writer_too_strict off, a single-writer
/// volume is open to readers, and a job or group that no longer exists does not count as a writer (R-FEAS-1109).
class HostVolumeCheck {
 public:
  /// `job` and `group` are being placed, `alloc_name` is the new allocation's name; all must outlive the check.
  HostVolumeCheck(const model::Job& job, const model::TaskGroup& group, std::string_view alloc_name,
                  const VolumeState& state, const model::Quirks& quirks = {});

  /// True if every request is satisfied on `node`; uses up claims of sticky volumes.
  [[nodiscard]] bool passes(const model::Node& node);

 private:
  [[nodiscard]] bool satisfies(const model::Node& node, const NamedVolumeRequest& wanted);
  [[nodiscard]] bool satisfies_dynamic(const model::HostVolume& volume, const model::VolumeRequest& request,
                                       std::string_view node_id);
  [[nodiscard]] bool has_other_writer(const model::HostVolume& volume, std::string_view node_id) const;
  void list_unmet_claims();

  const model::Job& job_;
  const VolumeState& state_;
  const model::Quirks quirks_;
  std::vector<NamedVolumeRequest> requests_;
  std::vector<std::string_view> unmet_claims_;  // volume IDs
};

}  // namespace berth::feasible
