#include "plan/apply.h"

#include <algorithm>

#include "base/assert.h"
#include "base/stages.h"
#include "model/job.h"
#include "tables/check.h"

namespace berth::plan {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

namespace {

/// Each planned allocation is in the chain of its node, once. One outside of all chains would be committed unchecked.
bool are_all_in_chains(const PlanRows& plan) {
  std::size_t reached = 0;
  for (const PlannedAlloc& first : plan.allocs) {
    if (!first.first_on_node) continue;
    const PlannedAlloc* at = &first;
    for (++reached; at->next_on_node != kNoRow; ++reached) {
      if (at->next_on_node >= plan.allocs.size() || reached > plan.allocs.size()) return false;
      at = &plan.allocs[at->next_on_node];
      if (at->first_on_node || at->node != first.node) return false;
    }
  }
  return reached == plan.allocs.size();
}

}  // namespace

void Applier::check_exactly(const Snapshot& state, const PlanRows& plan, NodeRow node, std::uint32_t first) {
  BERTH_ASSERT(first == kNoRow || plan.allocs[first].first_on_node);
  const tables::AllocTable& allocs = store_.current().allocs;  // `state` may be older than the rows of the plan
  entries_.clear();
  leaving_.clear();
  const model::Job* job = plan.job == kNoRow ? nullptr : store_.current().jobs.versions[plan.job]->spec.get();
  for (const UpdateOnNode& at : updates_on(node)) {
    const PlannedUpdate& update = plan.updates[at.second];
    NodeEntry& entry = entries_.emplace_back();
    BERTH_ASSERT(update.given == kNoRow || update.given < plan.given.size());
    if (update.given != kNoRow) {
      entry = entry_of(*plan.given[update.given], job);
      continue;
    }
    entry.id = allocs.id[update.alloc];
    entry.client = update.kind == PlannedUpdate::Kind::unknown ? tables::Client::unknown : allocs.client[update.alloc];
    entry.consumes = !tables::client_terminal(entry.client);
    entry.resources = (update.held ? *update.held : allocs.shape_of(update.alloc)).resources.get();
    const bool has_job = update.kind == PlannedUpdate::Kind::unknown || update.kind == PlannedUpdate::Kind::not_placed;
    if (job && has_job) entry.group = job->group(state.text(allocs.group[update.alloc]));
  }
  for (std::uint32_t i = first; i != kNoRow; i = plan.allocs[i].next_on_node) {
    BERTH_ASSERT(plan.allocs[i].node == node);
    NodeEntry& entry = entries_.emplace_back();
    if (plan.allocs[i].given != kNoRow) {
      const model::Allocation& given = *plan.given[plan.allocs[i].given];
      entry = entry_of(given, job);
      const bool own_job = given.job && (!job || given.job->version != job->version);
      if (!own_job && entry.client != tables::Client::unknown) entry.group = nullptr;
      continue;
    }
    entry.id = plan.allocs[i].id;
    entry.resources = plan.allocs[i].held->resources.get();
    // An entry without an embedded job claims no volume (R-MODEL-403). Entries of another version have one.
    if (plan.allocs[i].job != kNoRow) entry.group = planned_group(state, plan, plan.allocs[i]).spec;
  }
  for (const PlannedStop& stop : plan.stops)
    if (!stop.dropped && node_of(stop.alloc) == node) leaving_.push_back(allocs.id[stop.alloc]);
  NodeVerdict verdict = node_check_.check(state, node < state.nodes.size() ? node : kNoRow, entries_, leaving_);
  if (!verdict.fit) failures_.push_back({node, std::move(verdict.reason), std::move(verdict.error)});
}

NodeRow Applier::node_of(AllocRow alloc) const {
  const tables::AllocTable& allocs = store_.current().allocs;
  BERTH_ASSERT(alloc < allocs.size());  // plans name rows of this store
  const NodeRow node = allocs.node[alloc];
  if (node != kNoRow || !allocs.cold[alloc]) return node;
  return store_.find_node(allocs.cold[alloc]->node_id);
}

std::span<const UpdateOnNode> Applier::updates_on(NodeRow node) const {
  BERTH_DEBUG_ASSERT(std::is_sorted(updates_.begin(), updates_.end()));
  const auto first = std::lower_bound(updates_.begin(), updates_.end(), UpdateOnNode(node, 0));
  const auto last = std::find_if(first, updates_.end(), [&](const UpdateOnNode& at) { return at.first != node; });
  return {first, last};
}

/// Checks the nodes for which the plan lists updates alone.
void Applier::check_updated(const Snapshot& state, const PlanRows& plan) {
  if (updates_.empty()) return;
  placed_on_.clear();
  for (const PlannedAlloc& alloc : plan.allocs)
    if (alloc.first_on_node) placed_on_.push_back(alloc.node);
  std::sort(placed_on_.begin(), placed_on_.end());
  for (auto at = updates_.begin(); at != updates_.end();) {
    const auto updates = updates_on(at->first);
    const NodeRow node = at->first;
    BERTH_ASSERT(!updates.empty());  // otherwise this loop would not end
    at += static_cast<std::ptrdiff_t>(updates.size());
    if (std::binary_search(placed_on_.begin(), placed_on_.end(), node)) continue;
    if (!ColumnCheck::accepts(state, plan, node, updates)) check_exactly(state, plan, node, kNoRow);
  }
}

std::span<const NodeRefusal> Applier::check_nodes(const Snapshot& state, const PlanRows& plan,
                                                  const EarlyCheck* early) {
  BERTH_ASSERT(are_all_in_chains(plan));
  updates_.clear();
  failures_.clear();
  for (std::uint32_t i = 0; i < plan.updates.size(); ++i)
    if (!plan.updates[i].dropped) updates_.emplace_back(node_of(plan.updates[i].alloc), i);
  std::sort(updates_.begin(), updates_.end());
  // Only a node's first planned allocation has no predecessor in its chain; it represents the node.
  for (std::uint32_t i = 0; i < plan.allocs.size(); ++i) {
    if (!plan.allocs[i].first_on_node) continue;
    const NodeRow node = plan.allocs[i].node;
    const auto updates = updates_.empty() ? std::span<const UpdateOnNode>() : updates_on(node);
    if (early && early->fits(i) && updates.empty()) {
      BERTH_DEBUG_ASSERT(columns_.fits(state, plan, i));
      continue;
    }
    if (!plan.given.empty() || !columns_.fits(state, plan, i, updates)) check_exactly(state, plan, node, i);
  }
  check_updated(state, plan);
  const tables::NodeTable& nodes = store_.current().nodes;
  auto id_of = [&](NodeRow row) { return row < nodes.size() ? nodes.id(row) : base::Uuid{}; };
  std::sort(failures_.begin(), failures_.end(),
            [&](const NodeRefusal& a, const NodeRefusal& b) { return id_of(a.node) < id_of(b.node); });
  // A node is checked once: a second refusal would count twice against it (R-CTRL-630).
  BERTH_ASSERT(std::adjacent_find(failures_.begin(), failures_.end(), [](const NodeRefusal& a, const NodeRefusal& b) {
                 return a.node == b.node;
               }) == failures_.end());
  return failures_;
}

bool Applier::check_all(const Snapshot& state, const PlanRows& plan, const CommitFacts& facts, ApplyResult& result) {
  if (check_nodes(state, plan, facts.early).empty()) return true;
  const auto listed = static_cast<std::uint32_t>(plan.allocs.size() + updates_.size());
  for (NodeRefusal& failure : failures_) {
    result.rejected_nodes.push_back(failure.node);
    result.reasons.push_back(std::move(failure.reason));
    if (!failure.error.empty()) {  // R-CTRL-614, 620
      result.error = "1 error occurred:\n\t* " + failure.error + "\n\n";
      result.refused = listed;
      return false;
    }
    if (facts.all_at_once) break;  // R-CTRL-618
  }
  BERTH_ASSERT(!result.rejected_nodes.empty() && result.rejected_nodes.size() == result.reasons.size());
  result.refresh_index = std::max(state.nodes.index, state.allocs.index);
  if (result.refresh_index == 0) result.refresh_index = state.index;  // tables filled without an index
  if (result.refresh_index == 0) result.error = "partialCommit with RefreshIndex of 0";
  if (!result.error.empty() || facts.all_at_once) {
    result.refused = listed;
    return false;
  }
  return true;
}

void Applier::track_rejected(const CommitFacts& facts, ApplyResult& result) {  // R-CTRL-630
  if (!tracker_) return;
  BERTH_ASSERT(result.error.empty() || !result.rejected_nodes.empty());
  const std::size_t count = result.rejected_nodes.size() - (result.error.empty() ? 0 : 1);  // the last one failed it
  for (std::size_t i = 0; i < count; ++i)
    if (result.rejected_nodes[i] != kNoRow &&  // of an updated allocation that was removed meanwhile
        tracker_->add(store_.current().nodes.id(result.rejected_nodes[i]), facts.now_ns))
      result.ineligible_nodes.push_back(result.rejected_nodes[i]);
}

void Applier::apply(const PlanRows& plan, const CommitFacts& facts, ApplyResult& result) {
  base::StageClock* const clock = base::stage_clock;
  const base::StageScope checking(clock, base::Stage::check);  // the commit ends inside
  result.index = result.refresh_index = 0;
  result.committed = result.refused = result.stopped = 0;
  result.rejected_nodes.clear();
  result.reasons.clear();
  result.ineligible_nodes.clear();
  result.preempted_jobs.clear();
  result.hooks.clear();
  result.error.clear();
  result.placements_refused = result.index_used = false;

  BERTH_ASSERT(!facts.draw_id || log_);  // evaluations of preempted jobs are records
  tables::Commit commit = store_.begin_commit(facts.index);
  const Snapshot& state = commit.current();
  const Snapshot& view = facts.view ? *facts.view : state;
  const auto fails = [&](std::string why) {
    if (why.empty()) return false;
    result.error = std::move(why);
    result.refresh_index = 0;
    result.rejected_nodes.clear();
    result.reasons.clear();
    result.refused = static_cast<std::uint32_t>(plan.allocs.size());
    return true;
  };
  rejected_ = &result.rejected_nodes;
  if (fails(missing_alloc(view, plan))) return;
  if (facts.decided) {
    updates_.clear();
    if (facts.decided->without) result.rejected_nodes.push_back(*facts.decided->without);
    result.ineligible_nodes = facts.decided->ineligible;
  } else {
    const bool goes_on = check_all(view, plan, facts, result);
    if (!facts.only_whole) track_rejected(facts, result);
    if (!goes_on && (!result.error.empty() || result.ineligible_nodes.empty())) return;
  }
  if (fails(why_not(state, plan, facts))) {
    if (facts.only_whole) return;
    result.index_used = true;
    if (log_) log_->seen(facts.index);
    return;
  }
  if (clock) clock->enter(base::Stage::commit);
  Writing writing{commit, plan, facts, result, state};
  write(writing);
  BERTH_ASSERT(result.refresh_index == 0 || result.refresh_index >= result.index);  // a worker waits for no older state
  if (log_ && result.index_used) log_->adopt(commit, changes_, result.hooks);
#ifndef NDEBUG
  std::vector<std::string> problems;
  if (state.nodes.size() + state.allocs.size() < 4096)
    problems = tables::check_tables(store_);
  else
    for (const PlannedAlloc& planned : plan.allocs)
      if (planned.node < state.nodes.size()) tables::check_node(state, planned.node, problems);
  if (problems.empty() && state.allocs.size() < 256) problems = store_.check_history();
  for (const std::string& problem : problems) std::fprintf(stderr, "%s\n", problem.c_str());
  BERTH_ASSERT(problems.empty());
#endif
}

void apply(tables::StateStore& store, const PlanRows& plan, std::uint64_t index, bool all_at_once, ApplyResult& result,
           const model::Quirks& quirks) {
  Applier(store, quirks).apply(plan, index, all_at_once, result);
}

}  // namespace berth::plan
