#include "conform/required.h"

#include <algorithm>
#include <iterator>

namespace berth::conform {
namespace {

struct Required {
  std::string_view kind, members;
};

// Ascending by kind. Other members may be omitted if zero.
// clang-format off
constexpr Required kRequired[] = {
    {"@evaluation", "eval expect jobs now scheduler state"},
    {"@reconcile", "expect input jobs kind now"},
    {"alloc_times", "in/alloc in/fail_time in/now out"},
    {"allocs_fit", "in/check_devices in/node out"},
    {"annotate", "in/diff in/updates out"},
    {"blocked", "out script"},
    {"broker", "config end out script"},
    {"class_eligibility", "in/job out"},
    {"classify", "in/alloc in/node in/now out"},
    {"client_health", "in/horizon in/min_healthy_time in/nomad_checks in/tasks in/use_checks out script"},
    {"client_restarts", "in/policy in/type out script"},
    {"client_status", "in/tasks out"},
    {"computed_class", "in/node out"},
    {"constraint_escapes", "in/LTarget in/Operand in/RTarget out"},
    {"deployment_sim", "jobs out script state"},
    {"device_accounting", "in/node out"},
    {"device_assign", "in/ask in/devices out"},
    {"device_attribute", "in/text out"},
    {"device_compare", "in/left in/right out"},
    {"device_feasible", "in/asks out"},
    {"device_operand", "in/left_found in/operand in/right_found out"},
    {"distinct", "in/job in/nodes in/plan in/steps out"},
    {"drain_deadlines", "out script"},
    {"drain_job", "in/allocs in/groups in/last_handled in/nodes in/type out"},
    {"drain_sim", "jobs out script state"},
    {"even_spread", "in/use out"},
    {"flatten", "in/resources out"},
    {"gc", "jobs now out script state"},
    {"heartbeat_ttl", "in/max_per_second in/min_ttl in/timers out"},
    {"job_canonicalize", "in/job out"},
    {"job_validate", "in/job out"},
    {"job_files", "name source"},
    {"jobs", "jobs out script state"},
    {"name_index", "in/count in/group in/job in/operations in/used out"},
    {"names", "in/function out"},
    {"network", "in/ops out"},
    {"node_canonicalize", "in/node out"},
    {"nodes", "jobs out script state"},
    {"numbers", "in/function in/x out"},
    {"operand_equality", "in/left_found in/operand in/right_found out"},
    {"operand_order", "in/left_found in/operand in/right in/right_found out"},
    {"operand_regexp", "in/left_found in/operand in/right in/right_found out"},
    {"operand_semver", "in/left in/left_found in/operand in/right in/right_found out"},
    {"operand_set", "in/left in/left_found in/operand in/right in/right_found out"},
    {"operand_version", "in/left_found in/operand in/right in/right_found out"},
    {"periodic_next", "in/from in/time_zone out"},
    {"periodic_sim", "jobs out script state"},
    {"plan_apply", "config jobs out script state"},
    {"plan_commit", "in/plan in/result out"},
    {"plan_nodes", "in/NodeAllocation in/NodePreemptions in/NodeUpdate in/allocs in/node_id jobs out"},
    {"plan_queue", "out script"},
    {"port_ranges", "in/text out"},
    {"preempt", "in/ask in/candidates in/job_priority in/kind out"},
    {"preempt_distance", "in/max_parallel in/preempted out"},
    {"preempt_score", "in/priorities out"},
    {"reconnect_pick", "in/now in/original in/replacement out"},
    {"registration", "in/job out"},
    {"rejection_tracker", "in/burst in/refill_per_second in/threshold in/window out script"},
    {"reschedulable", "in/alloc in/eval_id in/is_batch in/is_disconnecting in/now out"},
    {"resolve_target", "in/node in/target out"},
    {"score_chain", "in/job in/nodes in/plan in/steps out"},
    {"score_fit", "in/algorithm in/node_cpu in/node_memory in/used_cpu in/used_memory out"},
    {"shuffle", "in/count in/eval_id in/index out"},
    {"spec_changed", "in/stored in/submitted_edits out"},
    {"state_effects", "jobs out script state"},
    {"tasks_updated", "in/group in/new_edits in/old out"},
    {"top_scores", "in/pushes out"},
};
// clang-format on

}  // namespace

std::string_view required_members(std::string_view kind) {
  const auto* const at = std::find_if(std::begin(kRequired), std::end(kRequired),
                                      [&](const Required& entry) { return entry.kind == kind; });
  return at == std::end(kRequired) ? std::string_view() : at->members;
}

}  // namespace berth::conform
