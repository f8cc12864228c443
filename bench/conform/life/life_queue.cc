#include "conform/life/life_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace berth::conform {

using broker::EvalRow;

namespace {

std::set<EvalRow> delivered(const broker::Contents& held) {
  std::set<EvalRow> out;
  for (const auto& known : held.known)
    if (known.deliveries > 0) out.insert(known.row);
  return out;
}

}  // namespace

std::set<tables::JobKeyRow> given_back(server::Server& server) {
  const broker::Contents held = server.broker().contents();
  const std::set<EvalRow> again = delivered(held);
  std::set<tables::JobKeyRow> out;
  for (const EvalRow row : held.time_wait)
    if (again.contains(row)) out.insert(server.book()[row].job);
  return out;
}

bool waits(server::Server& server, tables::JobKeyRow job) {
  for (const auto* tracked : {&server.tracker().captured(), &server.tracker().escaped()})
    for (const auto& [row, blocked] : *tracked)
      if (server.book()[row].job == job) return true;
  const broker::Contents held = server.broker().contents();
  return std::any_of(held.known.begin(), held.known.end(),
                     [&](const auto& known) { return server.book()[known.row].job == job; });
}

void check_queue(server::Server& server, Problems& problems) {
  server::EvalBook& book = server.book();
  const auto id_of = [&](EvalRow row) { return base::to_text(book[row].id); };
  const broker::Contents held = server.broker().contents();
  const std::set<EvalRow> again = delivered(held);
  std::map<base::Uuid, int> places;  // of the broker, in which an evaluation stands
  std::map<tables::JobKeyRow, int> active;
  const auto stands = [&](EvalRow row, bool is_active) {
    ++places[book[row].id];
    if (is_active && ++active[book[row].job] == 2)
      problems.push_back(fmt::format("R-CTRL-1724: two evaluations of a job are active, one is {}", id_of(row)));
  };
  for (const auto& queue : held.ready)
    for (const EvalRow row : queue) stands(row, true);
  for (const auto& outstanding : held.outstanding) stands(outstanding.row, true);
  for (const auto& [job, rows] : held.pending)
    for (const EvalRow row : rows) stands(row, false);
  for (const EvalRow row : held.cancelable) stands(row, false);
  for (const EvalRow row : held.time_wait) stands(row, again.contains(row));
  for (const EvalRow row : held.delayed) stands(row, false);

  const broker::BlockedTracker& tracker = server.tracker();
  std::map<tables::JobKeyRow, EvalRow> tracked;
  std::set<base::Uuid> blocked;
  for (const auto* rows : {&tracker.captured(), &tracker.escaped()})
    for (const auto& [row, eval] : *rows) {
      const server::EvalRecord& record = book[row];
      blocked.insert(record.id);
      if (record.type == broker::Queue::system || record.type == broker::Queue::sysbatch) continue;  // one per node
      if (!tracked.emplace(record.job, row).second)
        problems.push_back(fmt::format("R-CTRL-1727: two evaluations of a job are tracked, one is {}", id_of(row)));
      const auto named = tracker.jobs().find(broker::JobKeyRow{record.job});
      if (named == tracker.jobs().end() || named->second != row)
        problems.push_back(fmt::format("R-CTRL-1727: the tracked evaluation {} is not its job's", id_of(row)));
    }
  for (const auto& [node, rows] : tracker.system_by_node())
    for (const auto& [row, eval] : rows) blocked.insert(book[row].id);
  const tables::Snapshot& state = server.store().current();
  for (std::uint32_t row = 0; row < state.evals.size(); ++row) {
    const auto& eval = state.evals.object[row];
    if (!eval) continue;
    const auto at = places.find(state.evals.id[row]);
    const int count = at == places.end() ? 0 : at->second;
    if (eval->status == "pending" && count != 1)
      problems.push_back(fmt::format("R-CTRL-1725: the pending evaluation {} ({}) stands in {} places of the broker",
                                     eval->id, eval->triggered_by, count));
    if (eval->status == "blocked" && count == 0 && !blocked.contains(state.evals.id[row]))
      problems.push_back(fmt::format("R-CTRL-1726: the blocked evaluation {} waits nowhere", eval->id));
  }
}

}  // namespace berth::conform
