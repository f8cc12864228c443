#include "packing/preemption_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "base/random.h"
#include "model/job.h"
#include "rank/score_fit.h"
#include "strategy/fragments.h"

namespace berth::packing {
namespace {

using strategy::DeviceMask;
using strategy::kCpu;
using strategy::kDimensions;
using strategy::kDisk;
using strategy::kGpu;
using strategy::kMemory;
using strategy::Row;
using strategy::TaskClass;
using Steady = std::chrono::steady_clock;

constexpr std::uint32_t kNobody = UINT32_MAX;
constexpr std::size_t kBatch = 64;  // nodes evaluated by one call of a rule

/// One task that arrived.
struct Task {
  strategy::ClassId task = 0;
  std::uint32_t job = 0;
  std::uint32_t group = kNobody;  ///< group with a disruption budget; kNobody = no budget
  bool distinct_hosts = false;
  std::int64_t run_time_ns = sim::kNeverEnds;
  Row row = 0;
  DeviceMask devices = 0;
  bool placed = false, finished = false;
  std::int64_t start_ns = 0;
  std::uint32_t life = 0;  ///< number of the placement; ends of earlier ones are ignored
};

class Replay {
 public:
  Replay(const sim::PackingProblem& problem, const strategy::Context& context, const std::vector<std::uint32_t>& order,
         const PreemptionOptions& options, strategy::Ranker& ranker, const strategy::PreemptionInfo& rule,
         const strategy::Evictor& evictor)
      : problem_(problem),
        context_(context),
        order_(order),
        options_(options),
        ranker_(ranker),
        rule_(rule),
        evictor_(evictor),
        fleet_(sim::fleet_of(problem, order, false)),
        on_row_(fleet_.size()),
        random_(static_cast<std::uint64_t>(options.seed), "preemption") {}

  PreemptionRun run() {
    // The load runs from the start and can be evicted.
    std::vector<std::uint32_t> row_of(problem_.nodes.size(), kNobody);
    for (Row row = 0; row < order_.size(); ++row) row_of[order_[row]] = row;
    for (const sim::PackingProblem::Load& load : problem_.load) {
      const std::uint32_t row = row_of[load.node];
      const TaskClass& task = fleet_.task_class(load.task);
      if (row == kNobody || !fleet_.holds(row, task)) continue;
      tasks_.push_back({.task = load.task, .job = problem_.jobs});
      settle(static_cast<std::uint32_t>(tasks_.size() - 1),
             {row, strategy::choose_devices(fleet_.node(row), task, strategy::DeviceRule::best), 0});
    }
    first_ = tasks_.size();
    for (std::size_t i = 0, moments = 0; i < problem_.arrivals.size(); ++i) {
      const sim::PackingArrival& arrival = problem_.arrivals[i];
      leave_until(arrival.due_ns);
      now_ns_ = arrival.due_ns;
      const std::uint32_t group = group_of(arrival);
      if (group != kNobody) groups_[group].away = static_cast<std::int32_t>(arrival.count);
      for (std::uint32_t k = 0; k < arrival.count; ++k) {
        tasks_.push_back({.task = arrival.task,
                          .job = arrival.job,
                          .group = group,
                          .distinct_hosts = arrival.distinct_hosts,
                          .run_time_ns = arrival.run_time_ns});
        place(static_cast<std::uint32_t>(tasks_.size() - 1));
      }
      const std::size_t now = (i + 1) * kMoments / problem_.arrivals.size();
      if (now == moments) continue;
      moments = now;
      out_.moments.push_back(
          {100.0 * static_cast<double>(now) / kMoments, priority_running_percent(), out_.victims, out_.lost_cpu_ghz_h});
    }
    for (std::size_t i = first_; i < tasks_.size(); ++i) ++out_.asked, out_.running += has_place(tasks_[i]);
    out_.priority_running_percent = priority_running_percent();
    out_.digest = fmt::format("{:016x}", digest_);
    return std::move(out_);
  }

 private:
  struct End {
    std::int64_t at_ns;
    std::uint32_t task, life;
    bool operator>(const End& other) const { return std::tie(at_ns, task) > std::tie(other.at_ns, other.task); }
  };
  struct Decision {
    Row row = 0;
    DeviceMask devices = 0;
    std::vector<std::uint32_t> victims;  ///< tasks
    strategy::NodeKey key{};
    strategy::EvictionCost cost;
  };
  /// A question to the rule: one node with one set of devices.
  struct Question {
    Row row;
    DeviceMask devices;
    std::size_t first, count;  ///< range of its candidates
  };
  struct Group {
    std::int32_t budget = 0;
    std::int32_t away = 0;  ///< tasks that should run but do not
  };

  static bool has_place(const Task& task) { return task.placed || task.finished; }
  [[nodiscard]] double priority_running_percent() const {
    double asked = 0, running = 0;
    for (std::size_t i = first_; i < tasks_.size(); ++i) {
      const double priority = fleet_.task_class(tasks_[i].task).priority;
      asked += priority, running += has_place(tasks_[i]) ? priority : 0;
    }
    return asked == 0 ? 100 : 100 * running / asked;
  }

  void note(std::uint64_t value) { digest_ = base::mix64(digest_ ^ value); }

  std::uint32_t group_of(const sim::PackingArrival& arrival) {
    const Budgets& budgets = options_.budgets;
    if (!budgets.of_each && !(budgets.by_migrate && arrival.migrates > 0)) return kNobody;
    groups_.push_back({.budget = budgets.of_each.value_or(arrival.migrates), .away = 0});
    return static_cast<std::uint32_t>(groups_.size() - 1);
  }
  /// How many more tasks of its group may be evicted.
  [[nodiscard]] std::int32_t may_go(const Task& task) const {
    if (task.group == kNobody) return strategy::kNoBudget;
    return std::max(0, groups_[task.group].budget - groups_[task.group].away);
  }
  void count_away(const Task& task, std::int32_t change) {
    if (task.group != kNobody) groups_[task.group].away += change;
  }

  void settle(std::uint32_t id, const strategy::Choice& choice) {
    Task& task = tasks_[id];
    fleet_.place(choice.row, task.task, choice.devices);
    task.row = choice.row, task.devices = choice.devices, task.placed = true, task.start_ns = now_ns_, ++task.life;
    count_away(task, -1);
    on_row_[choice.row].push_back(id);
    if (task.distinct_hosts) hosts_[task.job].push_back(choice.row);
    if (options_.departures && task.run_time_ns != sim::kNeverEnds)
      ends_.push({now_ns_ + task.run_time_ns, id, task.life});
    note(order_[choice.row]), note(choice.devices);
  }
  void remove(std::uint32_t id) {
    Task& task = tasks_[id];
    fleet_.remove(task.row, task.task, task.devices);
    task.placed = false;
    count_away(task, 1);
    std::erase(on_row_[task.row], id);
    if (task.distinct_hosts) {
      auto& rows = hosts_[task.job];
      rows.erase(std::find(rows.begin(), rows.end(), task.row));
    }
  }

  void leave_until(std::int64_t now_ns) {
    while (!ends_.empty() && ends_.top().at_ns <= now_ns) {
      now_ns_ = ends_.top().at_ns;
      bool any = false;
      for (; !ends_.empty() && ends_.top().at_ns == now_ns_; ends_.pop()) {
        const End end = ends_.top();
        if (!tasks_[end.task].placed || tasks_[end.task].life != end.life) continue;
        remove(end.task);
        tasks_[end.task].finished = any = true;
        count_away(tasks_[end.task], -1);
      }
      if (any) try_waiting();
    }
  }

  /// Retries waiting tasks: highest priority first, then by class, then in order of waiting. If one of a class fits
  /// nowhere the others do not either, except with distinct hosts.
  void try_waiting() {
    for (auto& [key, queue] : waiting_) {
      std::size_t kept = 0, at = 0;
      for (; at < queue.size(); ++at) {
        const std::uint32_t id = queue[at];
        if (const auto choice = ranked(tasks_[id])) {
          settle(id, *choice);
          if (evicted_.erase(id) > 0) ++out_.placed_again;
          continue;
        }
        if (!tasks_[id].distinct_hosts) break;
        queue[kept++] = id;
      }
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(kept), queue.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  strategy::Exclusion exclusion_of(const Task& task) {
    if (!task.distinct_hosts) return {};
    excluded_.assign((fleet_.size() + 63) / 64, 0);
    for (const Row row : hosts_[task.job]) excluded_[row / 64] |= std::uint64_t{1} << (row % 64);
    return excluded_;
  }
  std::optional<strategy::Choice> ranked(const Task& task) {
    return ranker_.choose(fleet_, task.task, exclusion_of(task));
  }

  /// Places a task, then the tasks it evicts, then those they evict, and so on. Priorities fall along such a chain, so
  /// it ends.
  void place(std::uint32_t first) {
    std::deque<std::pair<std::uint32_t, std::uint32_t>> todo = {{first, 0}};  // task, depth
    while (!todo.empty()) {
      const auto [id, depth] = todo.front();
      todo.pop_front();
      if (const auto choice = ranked(tasks_[id])) {
        settle(id, *choice);
        if (depth > 0) ++out_.placed_again, evicted_.erase(id);
        continue;
      }
      const auto begin = Steady::now();
      unproven_ = false;
      auto decision = look_for_victims(tasks_[id]);
      const auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - begin).count();
      out_.latency.record(taken), out_.decide_s += static_cast<double>(taken) * 1e-9;
      ++out_.looked_for, out_.unproven += unproven_;
      if (!decision) {
        note(~std::uint64_t{0});
        const Task& task = tasks_[id];
        waiting_[{-fleet_.task_class(task.task).priority, task.task, task.distinct_hosts}].push_back(id);
        continue;
      }
      ++out_.preemptions, out_.cascades += depth > 0;
      out_.cascade_depth_max = std::max(out_.cascade_depth_max, depth);
      out_.overshoot += decision->cost.overshoot;
      for (const std::uint32_t victim : decision->victims) {
        const TaskClass& what = fleet_.task_class(tasks_[victim].task);
        const double hours = static_cast<double>(now_ns_ - tasks_[victim].start_ns) / 3.6e12;
        out_.lost_cpu_ghz_h += hours * what.ask[kCpu] / 1000,
            out_.lost_memory_gib_h += hours * what.ask[kMemory] / 1024;
        ++out_.victims, out_.victim_priorities += what.priority;
        out_.victim_priority_max = std::max(out_.victim_priority_max, what.priority);
        out_.beyond_budget += may_go(tasks_[victim]) == 0;
        remove(victim);
        evicted_.insert(victim);
        note(victim);
        todo.emplace_back(victim, depth + 1);
      }
      settle(id, {decision->row, decision->devices, 0});
      if (depth > 0) ++out_.placed_again, evicted_.erase(id);
    }
  }

  [[nodiscard]] bool eligible(const Task& asker, std::int32_t priority, const Task& other) const {
    const std::int32_t theirs = fleet_.task_class(other.task).priority;
    return options_.eligible == Eligibility::kubernetes ? theirs < priority
                                                        : priority - theirs >= 10 && other.job != asker.job;
  }

  std::optional<Decision> look_for_victims(const Task& asker) {
    const TaskClass& task = fleet_.task_class(asker.task);
    const strategy::Exclusion without = exclusion_of(asker);
    rows_.clear();
    for (Row row = 0; row < fleet_.size(); ++row)
      if (task.may_run_on(row) && !strategy::excluded(without, row) && may_help(row, task)) rows_.push_back(row);
    const std::size_t n = rows_.size();
    const bool sampled = rule_.search == strategy::NodeSearch::kubernetes;
    const std::size_t from = sampled && n > 1 ? random_.below(n) : 0;
    const std::size_t wanted = sampled ? strategy::kubernetes_candidates(n) : n;
    std::optional<Decision> best;
    std::size_t found = 0, within_budgets = 0;
    const auto enough = [&] { return sampled && found >= wanted && within_budgets > 0; };
    for (std::size_t i = 0; i < n && !enough();) {
      questions_.clear(), candidates_.clear(), ids_.clear(), shortages_.clear();
      for (const std::size_t end = std::min(n, i + kBatch); i < end; ++i) ask(rows_[(from + i) % n], asker, task);
      for (std::size_t q = 0; q < questions_.size(); ++q)
        shortages_[q].candidates = std::span(candidates_).subspan(questions_[q].first, questions_[q].count);
      answers_.resize(questions_.size());
      evictor_.find(shortages_, answers_, &unproven_);
      for (std::size_t q = 0; q < questions_.size() && !enough();) {
        auto decision = best_of_row(q);
        if (!decision) continue;
        ++found, within_budgets += decision->cost.beyond_budget == 0;
        if (!best || std::tie(decision->key, decision->row) < std::tie(best->key, best->row))
          best = std::move(decision);
      }
    }
    return best;
  }

  /// The best answer for the row of question `q`. Advances `q` to the next row.
  std::optional<Decision> best_of_row(std::size_t& q) {
    const Row row = questions_[q].row;
    std::optional<std::size_t> best;
    for (; q < questions_.size() && questions_[q].row == row; ++q) {
      if (!answers_[q]) continue;
      const auto victims = static_cast<std::int32_t>(answers_[q]->victims.size());
      if (fleet_.node(row).state.tasks - victims >= fleet_.tasks_max()) continue;
      if (!best || answers_[q]->key < answers_[*best]->key) best = q;
    }
    if (!best) return std::nullopt;
    const strategy::Eviction& answer = *answers_[*best];
    Decision out{.row = row, .devices = questions_[*best].devices, .key = answer.key, .cost = answer.cost};
    for (const std::uint32_t v : answer.victims) out.victims.push_back(ids_[questions_[*best].first + v]);
    return out;
  }

  /// True if the node could hold the task when empty.
  [[nodiscard]] bool may_help(Row row, const TaskClass& task) const {
    const strategy::NodeState& state = fleet_.node(row).state;
    for (std::size_t d = 0; d < kDimensions; ++d)
      if (state.capacity[d] < task.ask[d]) return false;
    return task.gpus <= state.device_count;
  }

  /// Adds the questions about one node, one for each set of devices that the task could get there.
  void ask(Row row, const Task& asker, const TaskClass& task) {
    here_.clear();
    for (const std::uint32_t id : on_row_[row])
      if (eligible(asker, task.priority, tasks_[id])) here_.push_back(id);
    if (here_.empty()) return;
    std::sort(here_.begin(), here_.end());
    const strategy::Node node = fleet_.node(row);
    const double fit =
        rank::fit_component(rank::FitAlgorithm::binpack, node.used(kCpu) + task.ask[kCpu], node.capacity(kCpu),
                            node.used(kMemory) + task.ask[kMemory], node.capacity(kMemory));
    each_device_set(node, task, [&](DeviceMask devices) {
      strategy::Shortage& shortage = shortages_.emplace_back();
      shortage.ask = task.ask, shortage.free = node.state.free, shortage.capacity = node.state.capacity;
      shortage.now_ns = now_ns_, shortage.fit_score = fit;
      shortage.free[kGpu] = 0;
      for (std::size_t i = 0; i < node.devices.size(); ++i)
        if ((devices >> i & 1) != 0) shortage.free[kGpu] += node.devices[i];
      questions_.push_back({row, devices, candidates_.size(), here_.size()});
      for (const std::uint32_t id : here_) candidates_.push_back(candidate_of(node, id, devices));
      ids_.insert(ids_.end(), here_.begin(), here_.end());
    });
  }

  strategy::Evictable candidate_of(const strategy::Node& node, std::uint32_t id, DeviceMask devices) {
    const TaskClass& task = fleet_.task_class(tasks_[id].task);
    strategy::Evictable out{.amounts = task.ask,
                            .priority = task.priority,
                            .start_ns = tasks_[id].start_ns,
                            .group = tasks_[id].group,
                            .may_go = may_go(tasks_[id])};
    out.amounts[kGpu] = std::popcount(tasks_[id].devices & devices) * task.gpu_milli;
    if (rule_.fragments) out.fragment_gain = fragment_gain(node, task, tasks_[id].devices);
    return out;
  }

  /// R-STRAT-818: each device for a part of one, the least occupied devices for whole ones, none without GPUs.
  template <class F>
  void each_device_set(const strategy::Node& node, const TaskClass& task, F f) {
    if (task.gpus == 0) return f(DeviceMask{0});
    if (task.gpu_milli < strategy::kWholeDevice) {
      for (std::size_t i = 0; i < node.devices.size(); ++i) f(DeviceMask{1} << i);
      return;
    }
    std::vector<std::size_t> by_use(node.devices.size());
    for (std::size_t i = 0; i < by_use.size(); ++i) by_use[i] = i;
    std::stable_sort(by_use.begin(), by_use.end(),
                     [&](std::size_t a, std::size_t b) { return node.devices[a] > node.devices[b]; });
    DeviceMask mask = 0;
    for (std::int32_t i = 0; i < task.gpus; ++i) mask |= DeviceMask{1} << by_use[static_cast<std::size_t>(i)];
    f(mask);
  }

  double fragment_gain(const strategy::Node& node, const TaskClass& other, DeviceMask devices) {
    if (!context_.fragments || node.devices.empty()) return 0;
    after_.assign(node.devices.begin(), node.devices.end());
    for (std::size_t i = 0; i < after_.size(); ++i)
      if ((devices >> i & 1) != 0) after_[i] = static_cast<std::int16_t>(after_[i] + other.gpu_milli);
    const auto& tables = *context_.fragments;
    return tables.exact(node.state.model, node.free(kCpu), node.devices) -
           tables.exact(node.state.model, node.free(kCpu) + other.ask[kCpu], after_);
  }

  const sim::PackingProblem& problem_;
  const strategy::Context& context_;
  const std::vector<std::uint32_t>& order_;
  const PreemptionOptions& options_;
  strategy::Ranker& ranker_;
  const strategy::PreemptionInfo& rule_;
  const strategy::Evictor& evictor_;
  strategy::Fleet fleet_;
  std::vector<Task> tasks_;
  std::size_t first_ = 0;  ///< first arrived task; before it is the load
  std::vector<std::vector<std::uint32_t>> on_row_;
  std::map<std::uint32_t, std::vector<Row>> hosts_;  ///< rows used by jobs with distinct hosts
  /// Waiting tasks by (-priority, class, distinct hosts).
  std::map<std::tuple<std::int32_t, strategy::ClassId, bool>, std::vector<std::uint32_t>> waiting_;
  std::set<std::uint32_t> evicted_;  ///< evicted and not placed again
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<Group> groups_;
  base::Random random_;
  std::int64_t now_ns_ = 0;
  std::uint64_t digest_ = base::mix64(2);
  bool unproven_ = false;
  PreemptionRun out_;
  std::vector<std::uint64_t> excluded_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> here_;  ///< tasks that may be evicted on one node
  // One batch: questions_, shortages_ and answers_ are parallel, and so are candidates_ and ids_.
  std::vector<Question> questions_;
  std::vector<strategy::Shortage> shortages_;
  std::vector<std::optional<strategy::Eviction>> answers_;
  std::vector<strategy::Evictable> candidates_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::int16_t> after_;
};

}  // namespace

Result<PreemptionRun> replay_preemption(const sim::PackingProblem& problem, const strategy::Context& context,
                                        const std::vector<std::uint32_t>& order, const PreemptionOptions& options,
                                        const strategy::Registry& strategies, const strategy::StrategySpec& spec,
                                        const strategy::PreemptionRegistry& rules, const strategy::StrategySpec& rule) {
  auto ranker = strategies.make(spec, with_draws(context, options.seed));
  if (!ranker) return tl::unexpected(ranker.error());
  const auto evictor = rules.make(rule);
  if (!evictor) return tl::unexpected(evictor.error());
  return Replay(problem, context, order, options, **ranker, *rules.find(rule.name), **evictor).run();
}

}  // namespace berth::packing
