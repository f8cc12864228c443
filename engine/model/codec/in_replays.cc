// The few JSON types that an ordinary replay reads and writes. The other types are in codec.cc, which is slow to
// compile.
#include "model/codec/values.h"
#include "model/job.h"

namespace berth::model {
namespace {

/// Lists of victims show this of an allocation (R-SCHED-191).
struct Stub {
  static constexpr bool kOmitZero = true;
  const Allocation& alloc;
  template <class S, class V>
  static void fields(S& s, V& v) {
    const Allocation& a = s.alloc;
    v("ID", a.id), v("EvalID", a.eval_id), v("Name", a.name), v("Namespace", a.namespace_), v("NodeID", a.node_id);
    v("NodeName", a.node_name), v("JobID", a.job_id), v("TaskGroup", a.task_group);
    v("DesiredStatus", a.desired_status), v("DesiredDescription", a.desired_description);
    v("DesiredTransition", a.desired_transition), v("ClientStatus", a.client_status);
    v("ClientDescription", a.client_description), v("TaskStates", a.task_states);
    v("DeploymentStatus", a.deployment_status), v("FollowupEvalID", a.followup_eval_id);
    v("NextAllocation", a.next_allocation), v("RescheduleTracker", a.reschedule_tracker);
    v("PreemptedAllocations", a.preempted_allocations), v("PreemptedByAllocation", a.preempted_by_allocation);
    v("CreateIndex", a.create_index), v("ModifyIndex", a.modify_index), v("CreateTime", a.create_time);
    v("ModifyTime", a.modify_time);
  }
};

}  // namespace

template Result<void> from_json<NetworkResource>(const json::Value& value, NetworkResource& out,
                                                 const ReadOptions& opts);
template json::Value to_json<NetworkResource>(const NetworkResource& value, WriteMode mode, const JobTable* jobs);

json::Value alloc_stub(const Allocation& alloc) { return codec::Writer(WriteMode::api, nullptr).write(Stub{alloc}); }

}  // namespace berth::model
