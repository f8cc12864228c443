// CSI volumes (R-FEAS-1201 to 1223).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "feasible/volume_state.h"

namespace berth::feasible {

/// The check of one Select; a pure function of the node.
class CsiVolumeCheck {
 public:
  /// `job` and `group` are what is placed, `alloc_name` the new allocation's name; all must outlive the check.
  CsiVolumeCheck(const model::Job& job, const model::TaskGroup& group, std::string_view alloc_name,
                 const VolumeState& state);

  /// `csi-volume:<namespace>:<id>` for each volume that does not exist. They join the evaluation's missing resources
  /// when a node reaches the check, not before (R-FEAS-1202, 1203).
  [[nodiscard]] const std::vector<std::string>& missing_resources() const { return missing_resources_; }

  /// The reason `node` is filtered with, or nothing when it passes.
  [[nodiscard]] std::optional<std::string> failure(const model::Node& node) const;

 private:
  struct Request {
    std::string volume_id;
    const model::VolumeRequest* request;
    const model::CsiVolume* volume;
  };
  [[nodiscard]] std::optional<std::string> failure(const Request& wanted, const model::Node& node) const;
  [[nodiscard]] bool is_schedulable(const model::CsiVolume& volume) const;
  [[nodiscard]] bool is_write_schedulable(const model::CsiVolume& volume) const;
  [[nodiscard]] std::optional<std::string> foreign_writer(const model::CsiVolume& volume) const;
  [[nodiscard]] std::int64_t count_on_node(std::string_view plugin_id, std::string_view node_id) const;

  const model::Job& job_;
  const VolumeState& state_;
  std::vector<Request> requests_;  // ascending by alias
  std::string missing_reason_;     // not empty when a volume does not exist
  std::vector<std::string> missing_resources_;
};

}  // namespace berth::feasible
