// Entities as the API prints them (R-MODEL-600 to 615): what the model's own JSON leaves to the server.
// All of it reads a snapshot, or what it is handed, so that it runs on any thread.
#pragma once

#include "base/json.h"
#include "fsm/job_summary.h"
#include "tables/state.h"

namespace berth::serve {

/// With resources, task states and their messages.
[[nodiscard]] json::Value alloc_json(const tables::Snapshot& state, tables::AllocRow row);
[[nodiscard]] json::Value alloc_json(const model::Allocation& alloc);
struct AllocStubFields {
  bool resources = false, task_states = true;
};
[[nodiscard]] json::Value alloc_stub(const tables::Snapshot& state, tables::AllocRow row,
                                     const AllocStubFields& fields = {});
/// The stubs of victims in a plan's annotations, with all their keys (R-API-350).
void fill_annotations(json::Value& annotations);
[[nodiscard]] json::Value eval_json(const model::Evaluation& eval);
[[nodiscard]] json::Value eval_stub(const model::Evaluation& eval);  ///< R-API-402
/// In registered form (R-API-240), with what a server fills in of services and identities.
[[nodiscard]] json::Value job_json(const model::Job& job);
[[nodiscard]] json::Value job_stub(const model::Job& job, const fsm::JobSummary* summary, bool with_meta);
[[nodiscard]] json::Value job_summary_json(const model::Job& job, const fsm::JobSummary* summary);  ///< R-API-201
/// R-API-301; its secret left out.
[[nodiscard]] json::Value node_json(const model::Node& node);
/// By the pool of the node's table, which a node has when its client says nothing of one.
[[nodiscard]] bool is_in_pool(const tables::Snapshot& state, tables::NodeRow row, const std::string& pool);
/// Bytes of the description of a namespace, a pool, a policy or a role.
inline constexpr std::size_t kDescriptionMost = 256;

struct NodeStubFields {
  bool resources = false, os = false;
};
[[nodiscard]] json::Value node_stub(const model::Node& node, const NodeStubFields& fields);
[[nodiscard]] json::Value node_pool_json(const model::NodePool& pool);  ///< R-API-460
// With those that are always there, in order.
[[nodiscard]] std::vector<std::string> pool_names(const tables::Snapshot& state);
[[nodiscard]] std::vector<std::string> namespace_names(const tables::Snapshot& state);
[[nodiscard]] std::vector<std::string> scaling_policy_ids(const tables::Snapshot& state);
/// What clients show of a task event (R-API-355).
[[nodiscard]] std::string display_message(const json::Value& event);

}  // namespace berth::serve
