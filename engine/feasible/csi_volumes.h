// CSI volumes (R-FEAS-1201 to 1223).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "feasible/volume_state.h"

namespace berth::feasible {

/// The volume as a resource that evaluations miss: `csi-volume:<namespace>:<id>` (R-CTRL-817).
[[nodiscard]] std::string csi_resource(std::string_view name_space, std::string_view volume);

/// The check of one Select; a pure function of the node.
class CsiVolumeCheck {
 public:
  /// `job` and `group` are being placed, `alloc_name` is the new allocation's name; all must outlive the check.
  CsiVolumeCheck(const model::Job& job, const model::TaskGroup& group, std::string_view alloc_name,
                 const VolumeState& state);

  /// csi_resource() of each volume that does not exist. They are added to the evaluation's missing
  /// resources when a node reaches the check, not before (R-FEAS-1202, 1203).
  [[nodiscard]] const std::vector<std::string>& missing_resources() const { return missing_resources_; }

  /// The reason why `node` is filtered, or nullopt if it passes.
  [[nodiscard]] std::optional<std::string> failure(const model::Node& node) const;
  /// True if there is no failure.
  [[nodiscard]] bool passes(const model::Node& node) const;

 private:
  /// The node's first problem, in this order (R-FEAS-1207 to 1210); after that the volume's, which is the same on every
  /// node.
  enum class Problem : std::uint8_t { none, no_plugin, unhealthy, too_many, unreachable, of_volume };
  struct Request {
    std::string volume_id;
    const model::VolumeRequest* request;
    const model::CsiVolume* volume;
    mutable bool is_known = false;                     // the following member, computed at the first node
    mutable std::optional<std::string> claim_problem;  // problem of the volume and its claims
  };
  [[nodiscard]] Problem problem(const Request& wanted, const model::Node& node) const;
  [[nodiscard]] const std::optional<std::string>& claim_problem(const Request& wanted) const;
  [[nodiscard]] std::optional<std::string> find_claim_problem(const Request& wanted) const;
  [[nodiscard]] bool is_schedulable(const model::CsiVolume& volume) const;
  [[nodiscard]] bool is_write_schedulable(const model::CsiVolume& volume) const;
  [[nodiscard]] std::optional<std::string> foreign_writer(const model::CsiVolume& volume) const;
  [[nodiscard]] std::int64_t count_on_node(std::string_view plugin_id, std::string_view node_id) const;

  const model::Job& job_;
  const VolumeState& state_;
  std::vector<Request> requests_;  // ascending by alias
  std::string missing_reason_;     // not empty when a volume does not exist
  std::vector<std::string> missing_resources_;
  struct Used {
    std::string_view source, namespace_;
    std::size_t position = 0;  ///< in the order of the allocations
  };
  // State of the last node passed to count_on_node(); its allocations must not change meanwhile.
  mutable std::optional<std::string> counted_node_;
  mutable std::vector<Used> used_;
  mutable std::vector<std::string_view> plugins_;  // of the volumes used there, ascending
};

}  // namespace berth::feasible
