#include "conform/life/life_queue.h"

#include <algorithm>

namespace berth::conform {

using broker::EvalRow;

std::set<tables::JobKeyRow> given_back(server::Server& server) {
  const broker::Contents held = server.broker().contents();
  std::set<EvalRow> again;
  for (const auto& known : held.known)
    if (known.deliveries > 0) again.insert(known.row);
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

model::Evaluation stored_eval(const tables::Snapshot& state, const server::EvalRecord& record) {
  const tables::EvalTable& evals = state.evals;
  const tables::JobKey& key = state.jobs.keys[record.job];
  const tables::StoredEvalRow row = record.stored;
  return tables::unpack(evals.packed[row], evals.more[row].get(),
                        {evals.id[row], state.text(key.job_namespace), state.text(key.job_id), evals.priority[row],
                         evals.status[row], evals.create_index[row], evals.modify_index[row]},
                        *state.symbols);
}

}  // namespace berth::conform
