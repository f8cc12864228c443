// Reading allocations (R-API-350 to 355).
#include "base/uuid.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/id_prefix.h"
#include "http/endpoints/lists.h"
#include "http/endpoints/objects.h"

namespace berth::http {

namespace {

using fsm::Table;
using tables::AllocRow;
using tables::kNoRow;

/// Allocations of one job or node, if the filter begins with that. Rows of others are left out without an object: of
/// 200,000 allocations, those of one job took 1,600 ms, and take 20.
struct OfOne {
  std::optional<std::string> job_id;
  std::optional<base::Uuid> node_id;

  [[nodiscard]] static OfOne read(const Request& request) {
    OfOne out;
    const auto filter = filter_of(request);
    if (!filter || !*filter) return out;
    if (const std::string* job = (*filter)->first_equal("JobID")) out.job_id = *job;
    if (const std::string* node = (*filter)->first_equal("NodeID")) out.node_id = base::parse_uuid(*node);
    return out;
  }
  [[nodiscard]] bool may_pass(const tables::Snapshot& state, AllocRow row) const {
    if (job_id && state.text(state.jobs.keys[state.allocs.job_key[row]].job_id) != *job_id) return false;
    const tables::NodeRow node = state.allocs.node[row];  // kNoRow: the node is not stored
    return !node_id || node == kNoRow || state.nodes.id(node) == *node_id;
  }
};

/// Members of an allocation that write_plain_alloc() writes.
constexpr std::string_view kPlainMembers[] = {
    "ID",        "Name",        "Namespace",   "EvalID",        "NodeID",       "NodeName",   "JobID",
    "TaskGroup", "CreateIndex", "ModifyIndex", "DesiredStatus", "ClientStatus", "CreateTime", "ModifyTime"};

/// Applies a filter to a row. Most filters read few members, so the whole object, with metrics, resources and events,
/// is made only for the others.
tl::expected<bool, std::string> passes_row(const tables::Snapshot& state, AllocRow row, const Filter& filter) {
  if (state.allocs.cold[row] || !filter.reads_only(kPlainMembers)) return filter.matches(tables::to_alloc(state, row));
  thread_local model::Allocation plain;  // reuses its memory
  write_plain_alloc(state, row, plain);
  return filter.matches(plain);
}

void list_allocations(Simulation& simulation, const Request& request, Reply& reply) {
  const auto resources = bool_parameter(request, "resources", reply);
  if (!resources) return;
  bool task_states = true;
  if (const std::string* given = request.find("task_states"); given && !given->empty()) {
    const auto value = bool_parameter(request, "task_states", reply);
    if (!value) return;
    task_states = *value;
  }
  const AllocStubFields fields{*resources, task_states};
  const auto prefix = IdPrefix::parse(request.prefix);
  if (!prefix) return reply.fail("alloc lookup failed: " + prefix.error());
  const auto state = simulation.store().snapshot();
  send_list(simulation, request, reply, Where::readers, [state, request, prefix = *prefix, fields] {
    const OfOne of_one = OfOne::read(request);
    ListRows list;
    const tables::AllocTable& allocs = state->allocs;
    for (AllocRow row = 0; row < allocs.size(); ++row) {
      if (!allocs.exists(row)) continue;
      if (!request.shows(state->text(state->jobs.keys[allocs.job_key[row]].job_namespace))) continue;
      if (prefix.matches(allocs.id[row]) && of_one.may_pass(*state, row)) list.rows.push_back(row);
    }
    const bool by_id = !request.prefix.empty();
    list.before = [state, by_id](std::uint32_t a, std::uint32_t b) {
      const auto& of = state->allocs;
      return by_id ? of.id[a] < of.id[b]
                   : std::pair(of.create_index[a], of.id[a]) < std::pair(of.create_index[b], of.id[b]);
    };
    list.descends = request.reverse;
    list.tokens = by_id ? TokenKind::text : TokenKind::creation;
    list.write = [state, fields](std::uint32_t row, std::string& out) {
      json::append_text(out, alloc_stub(*state, AllocRow(row), fields));
    };
    list.token = [state, by_id](std::uint32_t row) {
      return by_id ? base::to_text(state->allocs.id[row])
                   : creation_token(state->allocs.create_index[row], state->allocs.id[row]);
    };
    list.passes = [state](std::uint32_t row, const Filter& filter) {
      return passes_row(*state, AllocRow(row), filter);
    };
    return list;
  });
}

std::uint64_t alloc_index(Simulation& simulation, const Request& request) {
  if (request.captures[0].size() != 36) return kAnswerNow;
  const AllocRow row = simulation.store().find_alloc(request.captures[0]);
  return row == kNoRow ? simulation.log().table_index(Table::allocs) : simulation.state().allocs.modify_index[row];
}

void read_allocation(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string& id = request.captures[0];
  if (id.find('/') != std::string::npos) return reply.fail(404, "resource not found");
  if (!is_whole_id(id, "alloc lookup failed: ", reply)) return;
  const AllocRow row = simulation.store().find_alloc(id);
  if (row == kNoRow) return reply.fail(404, "alloc not found");
  reply.json(alloc_json(simulation.state(), row));
}

}  // namespace

void add_allocation_routes(Router& router) {
  router.read("/v1/allocations", list_allocations, blocks_on<Table::allocs>());
  router.read("/v1/allocation/*", read_allocation, {alloc_index, tables_of(Table::allocs)});
}

}  // namespace berth::http
