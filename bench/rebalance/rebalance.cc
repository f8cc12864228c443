#include "rebalance/rebalance.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "living/living.h"

namespace berth::rebalance {
namespace {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

/// Number of passes that drop only the nodes whose moves were refused. Later passes also drop half of the remaining
/// others, to limit the number of passes.
constexpr std::int64_t kPatientPasses = 4;

client::Outcome endless_task(const void*, const client::TaskStart&) { return {}; }

/// Why no node fits the group, the most frequent reason first.
std::string reasons_text(const model::AllocMetric& metric) {
  std::vector<std::pair<std::int64_t, std::string>> parts;
  for (const auto& [what, count] : metric.dimension_exhausted) parts.emplace_back(count, what + " exhausted");
  for (const auto& [what, count] : metric.constraint_filtered) parts.emplace_back(count, what);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (const auto& [count, what] : parts)
    out += fmt::format("{}{} node{}: {}", out.empty() ? "" : "; ", count, count == 1 ? "" : "s", what);
  return out.empty() ? "no node is a candidate" : out;
}

/// A machine that is no longer occupied is free, though stopped allocations hold its resources until the clock
/// advances.
double fragmentation_of(const Fleet& fleet, const sim::Amounts& request) {
  sim::PackingSums sums(request);
  for (const Machine& machine : fleet.machines)
    sums.add(packing_of(machine, machine.occupied() ? machine.free : machine.room));
  return sums.packing().fragmentation;
}

/// One pass: a fresh cluster on which the nodes are emptied.
class Pass final : public living::Listener {
 public:
  Pass(const serve::Start& start, const Settings& settings) {
    living::Config config = start.config;
    config.drivers.reset();
    config.tasks = {nullptr, endless_task, nullptr};
    config.journal = false, config.resume = true;
    config.server.keep_details = false;  // no report reads metrics of placements
    cluster_ = std::make_unique<living::Cluster>(config, this);
    cluster_->load(start.state);
    const auto known = static_cast<AllocRow>(state().allocs.size());
    cluster_->run_until(cluster_->now());
    fleet = read_fleet(state(), settings.move_batch, known);
    known_ = known;
    move_batch_ = settings.move_batch;
  }

  /// Empties the machines in this order and adds the moves to `plan`. After a refusal, continues with the next machine.
  /// Returns the positions in `sources` of refused ones.
  std::vector<std::size_t> empty(const std::vector<std::uint32_t>& sources, Plan& plan) {
    for (const Machine& machine : fleet.machines)
      if (!machine.occupied() && machine.accepts) {
        close(machine.row);
        plan.idle.push_back(name_of(machine.row));
      }
    for (const std::uint32_t at : sources)
      if (fleet.machines[at].accepts) close(fleet.machines[at].row);
    std::vector<std::size_t> refused;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Machine& machine = fleet.machines[sources[i]];
      plan.emptied.push_back(name_of(machine.row));
      for (const Load& load : machine.loads) {
        if (auto made = move(load.row); made) {
          made->gain = 1 / static_cast<double>(machine.loads.size());
          plan.moves.push_back(std::move(*made));
          continue;
        }
        refused.push_back(i);
        plan.refusals.push_back({name_of(machine.row), alloc_name(load.row), job_name(load.row), reasons_of(load.row)});
        break;
      }
    }
    const Fleet after = read_fleet(state(), move_batch_, known_);
    plan.occupied_after = after.occupied();
    plan.fragmentation_after = fragmentation_of(after, plan.mean_request);
    return refused;
  }

  [[nodiscard]] NodeName name_of(NodeRow row) const {
    const std::string* name = state().value_text(tables::kNameColumn, row);
    std::string id = base::to_text(state().nodes.id(row));
    return {id, name && !name->empty() ? *name : id};
  }

  Fleet fleet;

  // --- living::Listener ---
  void alloc_changed(const living::AllocChange& change) override {
    if (change.is_new) placed_.push_back(change.row);
  }

 private:
  [[nodiscard]] const tables::Snapshot& state() const { return cluster_->state(); }
  [[nodiscard]] std::string alloc_name(AllocRow row) const {
    const std::uint32_t number = state().allocs.name_index[row];
    const std::string& group = state().text(state().allocs.group[row]);
    return number == tables::kOddName ? group : fmt::format("{}[{}]", group, number);
  }
  [[nodiscard]] const tables::JobKey& job_of(AllocRow row) const {
    return state().jobs.keys[state().allocs.job_key[row]];
  }
  [[nodiscard]] std::string job_name(AllocRow row) const { return state().text(job_of(row).job_id); }

  void close(NodeRow row) {
    living::NodeEligibility event;
    event.node_id = base::to_text(state().nodes.id(row)), event.eligible = false;
    cluster_->apply(event);
  }

  /// Stops the allocation; nullopt: the scheduler places no replacement, and it keeps running.
  std::optional<Move> move(AllocRow row) {
    const tables::AllocTable& allocs = state().allocs;
    if (allocs.terminal(row)) return std::nullopt;  // it has ended otherwise
    Move out;
    out.alloc_id = base::to_text(allocs.id[row]), out.alloc = alloc_name(row), out.job = job_name(row);
    out.name_space = state().text(job_of(row).job_namespace);
    out.from = name_of(allocs.node[row]);
    const auto key = std::tuple(allocs.job_key[row], allocs.group[row], allocs.name_index[row]);
    placed_.clear();
    living::AllocStop event;
    event.alloc_id = out.alloc_id;
    const fsm::Answer answer = cluster_->apply(event);
    eval_id_ = answer.eval_id;
    if (!answer.error.empty()) return std::nullopt;
    cluster_->run_until(cluster_->now());
    if (!tables::server_terminal(state().allocs.desired[row])) return std::nullopt;
    for (const AllocRow placed : placed_) {
      const tables::AllocTable& now = state().allocs;
      if (!now.exists(placed) || now.terminal(placed)) continue;
      if (std::tuple(now.job_key[placed], now.group[placed], now.name_index[placed]) != key) continue;
      out.to = name_of(now.node[placed]);
      return out;
    }
    return std::nullopt;
  }

  /// The reasons from the last stop's evaluation for the allocation's group.
  [[nodiscard]] std::string reasons_of(AllocRow row) {
    const tables::StoredEvalRow at = cluster_->server().store().find_eval(eval_id_);
    const auto eval = at == kNoRow ? nullptr : state().eval(at);
    if (eval)
      for (const auto& [group, metric] : eval->failed_tg_allocs)
        if (group == state().text(state().allocs.group[row])) return reasons_text(metric);
    return "the scheduler leaves it where it is";
  }

  std::unique_ptr<living::Cluster> cluster_;
  std::vector<AllocRow> placed_;  // by the present event
  std::string eval_id_;           // of the present event
  AllocRow known_ = 0;
  bool move_batch_ = false;
};

}  // namespace

Plan make_plan(serve::Start start, const Settings& settings) {
  // Moves must not evict: a replacement that fits only by preemption counts as refused.
  if (start.state.scheduler_config) {
    model::PreemptionConfig& may_evict = start.state.scheduler_config->preemption_config;
    may_evict = {may_evict.system_scheduler_enabled, false, false, false};
  }
  std::vector<std::uint32_t> chosen, sources;  // those of a pass: the first `begun` chosen ones that were not refused
  std::size_t begun = 0;
  std::vector<Refusal> refusals;
  for (std::int64_t pass_number = 1;; ++pass_number) {
    Pass pass(start, settings);
    Plan plan;
    plan.passes = pass_number;
    plan.nodes = static_cast<std::int64_t>(pass.fleet.machines.size());
    plan.occupied_before = pass.fleet.occupied();
    plan.mean_request = pass.fleet.mean_request();
    plan.fragmentation_before = fragmentation_of(pass.fleet, plan.mean_request);
    plan.stays = pass.fleet.stays;
    for (const Machine& machine : pass.fleet.machines) plan.movable += static_cast<std::int64_t>(machine.loads.size());
    plan.bound = lower_bound(pass.fleet, settings.limits.moves);
    if (pass_number == 1) {
      chosen = choose(pass.fleet, settings.limits);
      begun = settings.fragmentation ? enough(pass.fleet, chosen, *settings.fragmentation) : chosen.size();
      sources.assign(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(begun));
    }
    const std::vector<std::size_t> refused = pass.empty(sources, plan);
    refusals.insert(refusals.end(), plan.refusals.begin(), plan.refusals.end());
    if (!refused.empty()) {
      std::vector<std::uint32_t> remaining;
      for (std::size_t i = 0; i < sources.size(); ++i)
        if (!std::binary_search(refused.begin(), refused.end(), i)) remaining.push_back(sources[i]);
      if (pass_number >= kPatientPasses) remaining.resize(remaining.size() / 2);
      sources = std::move(remaining);
    } else if (settings.fragmentation && plan.fragmentation_after > *settings.fragmentation && begun < chosen.size()) {
      const std::size_t more = std::min(chosen.size() - begun, std::max<std::size_t>(1, begun / 4));
      sources.insert(sources.end(), chosen.begin() + static_cast<std::ptrdiff_t>(begun),
                     chosen.begin() + static_cast<std::ptrdiff_t>(begun + more));
      begun += more;
    } else {
      plan.refusals = std::move(refusals);
      return plan;
    }
  }
}

}  // namespace berth::rebalance
