// IDs of nodes, allocations, evaluations and deployments, and references to them (R-MODEL-590).
//
// The state keys these objects by the 16 bytes of a UUID, so an object with another ID is refused. IDs become lower
// case on input; from then on, equal IDs have equal bytes. A reference that is no UUID is kept, refers to nothing, and
// is reported.
#include "base/uuid.h"
#include "io/cluster_parts.h"
#include "model/job.h"

namespace berth::io {
namespace {

constexpr const char* kIdRemedy = "write a UUID: 32 hexadecimal digits as 8-4-4-4-12";

/// Makes a UUID lower case; false if the text is no UUID.
bool fold_uuid(std::string& id) {
  if (!base::parse_uuid(id)) return false;
  for (char& c : id)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  return true;
}

/// Makes the references of one object lower case and reports the first that is no UUID.
class References {
 public:
  References(const char* what, const std::string& id, Warnings& warnings) : what_(what), id_(id), warnings_(warnings) {}
  void operator()(const char* key, std::string& reference) {
    if (reference.empty() || fold_uuid(reference) || told_) return;
    told_ = true;
    warnings_.push_back(std::string(what_) + " " + shortened(id_) + ": its " + key + " " + shortened(reference) +
                        " is no UUID, so it is not there");
  }
  void operator()(const char* key, std::vector<std::string>& references) {
    for (std::string& reference : references) (*this)(key, reference);
  }

 private:
  const char* const what_;
  const std::string& id_;
  Warnings& warnings_;
  bool told_ = false;
};

void fold(model::Allocation& alloc, Warnings& warnings) {
  References refer("allocation", alloc.id, warnings);
  fold_uuid(alloc.node_id);  // check_state reports missing nodes
  refer("EvalID", alloc.eval_id);
  refer("PreviousAllocation", alloc.previous_allocation);
  refer("NextAllocation", alloc.next_allocation);
  refer("DeploymentID", alloc.deployment_id);
  refer("FollowupEvalID", alloc.followup_eval_id);
  refer("PreemptedAllocations", alloc.preempted_allocations);
  refer("PreemptedByAllocation", alloc.preempted_by_allocation);
  if (!alloc.reschedule_tracker || !alloc.reschedule_tracker->events) return;
  for (model::RescheduleEvent& event : *alloc.reschedule_tracker->events) {
    refer("PrevAllocID", event.prev_alloc_id);
    refer("PrevNodeID", event.prev_node_id);
  }
}

void fold(model::Evaluation& eval, Warnings& warnings) {
  References refer("evaluation", eval.id, warnings);
  refer("NodeID", eval.node_id);
  refer("DeploymentID", eval.deployment_id);
  refer("NextEval", eval.next_eval);
  refer("PreviousEval", eval.previous_eval);
  refer("BlockedEval", eval.blocked_eval);
}

void fold(model::Deployment& deployment, Warnings& warnings) {
  References refer("deployment", deployment.id, warnings);
  for (auto& [name, group] : deployment.task_groups)
    if (group) refer("PlacedCanaries", group->placed_canaries);
}

}  // namespace

Result<void> take_id(std::string& id, const char* what, bool may_be_nil, const model::ReadOptions& options) {
  const auto refuse = [&](std::string problem, const char* remedy) {
    return tl::unexpected(InputError{options.path, options.place, std::move(problem), remedy});
  };
  const std::string article = *what == 'a' || *what == 'e' ? "an " : "a ";
  if (id.empty()) return refuse(article + what + " without an ID", "give it one");
  if (!fold_uuid(id)) return refuse(what + (" " + shortened(id)) + ": its ID is no UUID", kIdRemedy);
  if (!may_be_nil && base::parse_uuid(id)->is_nil())
    return refuse(what + (" " + id) + ": the nil UUID stands for none", "give it another ID");
  return {};
}

void take_references(model::ClusterState& state, Warnings& warnings) {
  for (model::Allocation& alloc : state.allocs) fold(alloc, warnings);
  for (model::Evaluation& eval : state.evals) fold(eval, warnings);
  for (model::Deployment& deployment : state.deployments) fold(deployment, warnings);
  for (model::HostVolume& volume : state.host_volumes) fold_uuid(volume.node_id);
  for (model::HostVolumeClaim& claim : state.host_volume_claims) fold_uuid(claim.alloc_id);
}

}  // namespace berth::io
