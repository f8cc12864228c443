// Entities as printed by the API (R-MODEL-600 to 615): the model's JSON plus members that the server adds. Functions
// only read a snapshot or their arguments, so they may run on any thread.
#pragma once

#include "base/json.h"
#include "fsm/job_summary.h"
#include "tables/job_table.h"

namespace berth::http {

/// With resources, task states and their messages.
[[nodiscard]] json::Value alloc_json(const tables::Snapshot& state, tables::AllocRow row);
[[nodiscard]] json::Value alloc_json(const model::Allocation& alloc);
struct AllocStubFields {
  bool resources = false, task_states = true;
};
[[nodiscard]] json::Value alloc_stub(const tables::Snapshot& state, tables::AllocRow row,
                                     const AllocStubFields& fields = {});
/// Writes what tables::write_plain() does, and the node's name, into `out`, whose memory is used again.
void write_plain_alloc(const tables::Snapshot& state, tables::AllocRow row, model::Allocation& out);
/// The stubs of victims in a plan's annotations, with all their keys (R-API-350).
void fill_annotations(json::Value& annotations);
[[nodiscard]] json::Value eval_json(const model::Evaluation& eval);
[[nodiscard]] json::Value eval_stub(const model::Evaluation& eval);  ///< R-API-402
/// In registered form (R-API-240), with the server's defaults for services and identities.
[[nodiscard]] json::Value job_json(const model::Job& job);
[[nodiscard]] json::Value job_stub(const model::Job& job, const fsm::JobSummary* summary, bool with_meta);
[[nodiscard]] json::Value job_summary_json(const model::Job& job, const fsm::JobSummary* summary);  ///< R-API-201
/// R-API-301; without its secret.
[[nodiscard]] json::Value node_json(const model::Node& node);
/// Compares with the pool in the node table, which is set even if the client gave none.
[[nodiscard]] bool is_in_pool(const tables::Snapshot& state, tables::NodeRow row, const std::string& pool);
/// Bytes of the description of a namespace, a pool, a policy or a role.
inline constexpr std::size_t kDescriptionMost = 256;

struct NodeStubFields {
  bool resources = false, os = false;
};
[[nodiscard]] json::Value node_stub(const model::Node& node, const NodeStubFields& fields);
[[nodiscard]] json::Value node_pool_json(const model::NodePool& pool);  ///< R-API-460
// Including built-in ones, sorted.
[[nodiscard]] std::vector<std::string> pool_names(const tables::Snapshot& state);
[[nodiscard]] std::vector<std::string> namespace_names(const tables::Snapshot& state);
[[nodiscard]] std::vector<std::string> scaling_policy_ids(const tables::Snapshot& state);
/// Display text of a task event (R-API-355).
[[nodiscard]] std::string display_message(const json::Value& event);

}  // namespace berth::http
