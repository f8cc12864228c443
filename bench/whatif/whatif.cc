#include "whatif/whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "advice/plan_text.h"
#include "advice/question.h"
#include "base/text.h"
#include "dryrun/job_document.h"
#include "io/files.h"
#include "model/computed_class.h"
#include "model/job.h"
#include "model/registration/node_canonical.h"
#include "run/interrupt.h"
#include "server/lane.h"
#include "server/surroundings.h"
#include "tables/export.h"

namespace berth::whatif {
namespace {

using tables::AllocRow;
using tables::Client;
using tables::Desired;
using tables::kNoRow;
using tables::NodeRow;

constexpr std::int64_t kLook = base::kSecond;        // virtual time between two checks for rest
constexpr std::int64_t kQuiet = 60 * base::kSecond;  // time without entries; longer than health checks and restarts

/// Every task runs until it is stopped. `context`: the Settings.
client::Outcome endless(const void* context, const client::TaskStart& start) {
  client::Outcome out;
  if (start.run == 0) out.start_delay_ns = static_cast<const Settings*>(context)->start_delay_ns;
  return out;
}

/// The node classes of exhausted nodes, the most frequent first, if there are several.
std::string classes_of(const model::AllocMetric& metric) {
  constexpr std::size_t kShown = 5;  // a cluster may have a class per node
  std::vector<std::pair<std::int64_t, std::string>> classes;
  for (const auto& [name, count] : metric.class_exhausted) classes.emplace_back(count, name);
  if (classes.size() < 2) return "";
  std::stable_sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, classes.size()); ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", classes[i].first, classes[i].second);
  if (classes.size() > kShown) out += fmt::format(" and {} more", classes.size() - kShown);
  return fmt::format(" (exhausted by node class: {})", out);
}

/// Why nodes do not fit a group, the most frequent reason first.
std::string reasons_of(const model::AllocMetric& metric) {
  std::vector<std::pair<std::int64_t, std::string>> parts;
  for (const auto& [what, count] : metric.dimension_exhausted)
    parts.emplace_back(count, what.starts_with("network: ") ? what : what + " exhausted");
  for (const auto& [what, count] : metric.constraint_filtered) parts.emplace_back(count, what);
  for (const std::string& what : metric.quota_exhausted) parts.emplace_back(1, what);
  if (metric.nodes_evaluated == 0) return "no node is a candidate";
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (const auto& [count, what] : parts)
    out += fmt::format("{}{} node{}: {}", out.empty() ? "" : "; ", count, count == 1 ? "" : "s", what);
  return out + classes_of(metric);
}

living::Config config_of(living::Config config, const Settings& settings) {
  config.drivers.reset();
  config.tasks = {&settings, endless, nullptr};
  config.journal = false;
  config.server.keep_details = false;  // no report reads metrics of placements
  return config;
}

}  // namespace

WhatIf::WhatIf(serve::Start start, Settings settings) : settings_(std::move(settings)), seed_(start.config.seed) {
  context_.namespaces = start.state.namespaces;
  context_.node_pools = start.state.node_pools;
  context_.scheduler_config = start.state.scheduler_config;
  for (const model::Node& node : start.state.nodes) machines_.emplace(node.id, node);
  cluster_ = std::make_unique<living::Cluster>(config_of(std::move(start.config), settings_), &watch_);
  watch_.bind(*cluster_);
  cluster_->load(start.state);
  watch_.take_state();
  watch_.begin_step();
  static_cast<void>(rank_by(settings_.strategy));
  settle();  // finishes pending work of the state before the first step
}

// ---------------------------------------------------------------- names

std::vector<const model::Node*> WhatIf::nodes_of(const Selector& selector) const {
  std::vector<const model::Node*> out;
  for (const auto& [id, node] : machines_)
    if (selector.matches(node)) out.push_back(&node);
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return out;
}

std::string WhatIf::job_words(tables::JobKeyRow job) const {
  const tables::JobKey& key = state().jobs.keys[job];
  return advice::job_text(state().text(key.job_id), state().text(key.job_namespace));
}

bool WhatIf::is_of_system(JobKeyRow job) const {
  const tables::VersionRow version = state().jobs.keys[job].current;
  return version != kNoRow && model::is_of_system(state().jobs.versions[version]->type);
}

std::string WhatIf::node_words(NodeRow node) const {
  const std::string id = base::to_text(state().nodes.id(node));
  if (const auto removed = removed_.find(id); removed != removed_.end()) return removed->second;
  const auto found = machines_.find(id);
  return found == machines_.end() || found->second.name.empty() ? id : found->second.name;
}

/// The nodes that a step names. A lost machine can only be removed.
Result<std::vector<const model::Node*>, std::string> WhatIf::nodes_of(const Step& step) const {
  std::vector<const model::Node*> nodes = nodes_of(step.nodes);
  if (nodes.empty()) return wrong("matches no node");
  if (step.change == Change::remove) return nodes;
  std::erase_if(
      nodes, [&](const model::Node* node) { return silent_.contains(cluster_->server().store().find_node(node->id)); });
  if (nodes.empty()) return wrong("matches only nodes that an earlier step has lost");
  return nodes;
}

Result<void, std::string> WhatIf::check_running(const JobName& name) const {
  const auto job = cluster_->server().log().job(name.name_space, name.id);
  if (!job)
    return wrong(
        fmt::format("there is no job '{}' in namespace '{}'", base::shown(name.id), base::shown(name.name_space)));
  if (job->stop)
    return wrong(fmt::format("job '{}' is stopped; a step with --register FILE starts it", base::shown(name.id)));
  return {};
}

// ---------------------------------------------------------------- changes

Result<void, std::string> WhatIf::apply(const living::Event& event) {
  fsm::Answer answer = cluster_->apply(event);
  if (answer.error.empty()) return {};
  // Only a server's API needs the status in "RPC Error:: 404,text".
  constexpr std::string_view kStatus = "RPC Error:: 404,";
  if (answer.error.starts_with("RPC Error:: ")) answer.error.erase(0, kStatus.size());
  return wrong(std::move(answer.error));
}

Result<void, std::string> WhatIf::drain(const std::vector<const model::Node*>& nodes) {
  for (const model::Node* node : nodes) {
    living::NodeDrain event;
    event.node_id = node->id, event.deadline = settings_.drain_deadline_ns;
    if (auto done = apply(event); !done) return done;
  }
  return {};
}

Result<void, std::string> WhatIf::upgrade(const std::vector<const model::Node*>& nodes) {
  for (std::size_t begin = 0; begin < nodes.size(); begin += static_cast<std::size_t>(settings_.at_once)) {
    const std::size_t end = std::min(nodes.size(), begin + static_cast<std::size_t>(settings_.at_once));
    const std::vector<const model::Node*> batch(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                                                nodes.begin() + static_cast<std::ptrdiff_t>(end));
    if (auto done = drain(batch); !done) return done;
    settle();
    if (!settled_) return {};
    for (const model::Node* node : batch) {
      living::NodeDrain event;
      event.node_id = node->id, event.clear = event.mark_eligible = true;
      if (auto done = apply(event); !done) return done;
    }
  }
  return {};
}

Result<void, std::string> WhatIf::add(const Step& step) {
  model::Node node;
  if (!step.like.empty()) {
    const auto like = nodes_of(step.nodes);
    if (like.empty()) return wrong(fmt::format("'{}' matches no node", base::shown(step.like)));
    node = *like.front();
    node.drain_strategy.reset(), node.last_drain = nullptr;
  } else {
    node = serve::made_up_node(0, seed_);
    node.node_resources->processors->topology->override_total_compute = static_cast<std::uint64_t>(step.cpu_mhz);
    node.node_resources->cpu.cpu_shares = step.cpu_mhz;
    node.node_resources->memory.memory_mb = step.memory_mb;
    node.node_resources->disk.disk_mb = step.disk_mb;
    node.meta.clear(), node.node_class.clear();
    if (!machines_.empty()) node.datacenter = machines_.begin()->second.datacenter;
  }
  node.status = "ready", node.scheduling_eligibility = "eligible";
  for (std::int64_t number = 0; number < step.count; ++number) {
    const model::Node unique = serve::made_up_node(machines_.size() + added_, seed_ + 1 + added_);
    ++added_;
    node.id = unique.id, node.name = fmt::format("new-{}", added_);
    if (node.attributes.count("unique.hostname") != 0) node.attributes["unique.hostname"] = node.name;
    model::canonicalize(node);
    node.computed_class = model::computed_class(node);
    if (auto done = apply(living::NodeRegister{node}); !done) return done;
    machines_.insert_or_assign(node.id, node);
  }
  return {};
}

Result<void, std::string> WhatIf::edit(const Step& step, const std::vector<const model::Node*>& nodes) {
  for (const model::Node* old : nodes) {
    model::Node node = *old;
    if (step.key == "class") node.node_class = step.value;
    if (step.key == "datacenter") node.datacenter = step.value;
    if (step.key == "pool") node.node_pool = step.value;
    if (step.key.starts_with("attr.")) node.attributes[step.key.substr(5)] = step.value;
    if (step.key.starts_with("meta.")) node.meta[step.key.substr(5)] = step.value;
    node.computed_class = model::computed_class(node);
    if (auto done = apply(living::NodeRegister{node}); !done) return done;
    machines_.insert_or_assign(node.id, node);
  }
  return {};
}

Result<std::shared_ptr<const model::Job>, std::string> WhatIf::read_job(const std::string& file,
                                                                        const json::Value& document) {
  const auto registration = advice::read_job(context_, document, file, "");
  if (!registration) return wrong(registration.error().line());
  if (!registration->job) return wrong(file + ": " + std::string(base::trim_space(registration->error)));
  return registration->job;
}

/// An error is the first diagnostic, and the number of others.
Result<json::Value, std::string> WhatIf::read_document(const std::string& file) const {
  const auto text = io::read_file(file);
  if (!text) return wrong(text.error().line());
  auto document = dryrun::job_document(*text, file, settings_.job_files);
  if (document) return std::move(document->value);
  const std::string& errors = document.error();
  const auto others = std::count(errors.begin(), errors.end(), '\n');
  std::string first = errors.substr(0, errors.find('\n'));
  if (others > 0) first += fmt::format(" (and {} more)", others);
  return wrong(std::move(first));
}

Result<void, std::string> WhatIf::submit(const Step& step) {
  const auto document = read_document(step.file);
  if (!document) return wrong(document.error());
  auto job = read_job(step.file, *document);
  if (!job) return wrong(job.error());
  living::JobRegister event;
  event.job = std::move(*job);
  return apply(event);
}

Result<void, std::string> WhatIf::configure(const Step& step) {
  living::SetSchedulerConfig event;
  if (const auto& stored = state().cold->scheduler_config) event.configuration = *stored;
  model::SchedulerConfiguration& to = event.configuration;
  if (step.change == Change::config) {
    to.scheduler_algorithm = step.value;
  } else {
    bool& enabled = step.key == "service"  ? to.preemption_config.service_scheduler_enabled
                    : step.key == "batch"  ? to.preemption_config.batch_scheduler_enabled
                    : step.key == "system" ? to.preemption_config.system_scheduler_enabled
                                           : to.preemption_config.sysbatch_scheduler_enabled;
    enabled = step.on;
  }
  return apply(event);
}

/// `strategy` was checked by make_step().
Result<void, std::string> WhatIf::rank_by(const std::string& strategy) {
  settings_.strategy = strategy == kNomadStrategy ? "" : strategy;
  sched::StrategyFit& fit = cluster_->server().lane().scratch.strategy_fit;
  if (settings_.strategy.empty()) {
    fit.use({});
    return {};
  }
  auto made = server::scoring_strategy(settings_.strategy, state());
  if (!made) return wrong(made.error().problem);
  made->use_in(fit);
  ranker_ = std::move(made->ranker);
  return {};
}

Result<void, std::string> WhatIf::make(const Step& step, StepReport& report) {
  std::vector<const model::Node*> nodes;
  const bool names_nodes = step.change == Change::drain || step.change == Change::remove ||
                           step.change == Change::lose || step.change == Change::edit || step.change == Change::upgrade;
  if (names_nodes) {
    auto named = nodes_of(step);
    if (!named) return wrong(named.error());
    nodes = std::move(*named);
    report.nodes = static_cast<std::int64_t>(nodes.size());
  }
  switch (step.change) {
    case Change::drain:
      return drain(nodes);
    case Change::upgrade:
      return upgrade(nodes);
    case Change::add:
      report.nodes = step.count;
      return add(step);
    case Change::edit:
      return edit(step, nodes);
    case Change::submit:
      return submit(step);
    case Change::config:
    case Change::preemption:
      return configure(step);
    case Change::strategy:
      return rank_by(step.value);
    case Change::scale: {
      if (auto fine = check_running(step.job); !fine) return fine;
      living::JobScale event;
      event.name_space = step.job.name_space, event.job_id = step.job.id, event.group = step.group;
      event.count = step.count;
      return apply(event);
    }
    case Change::stop: {
      if (auto fine = check_running(step.job); !fine) return fine;
      living::JobDeregister event;
      event.name_space = step.job.name_space, event.job_id = step.job.id;
      return apply(event);
    }
    case Change::lose:
    case Change::remove:
      break;
  }
  living::NodeDeregister gone;
  for (const model::Node* node : nodes) {
    const NodeRow row = cluster_->server().store().find_node(node->id);
    watch_.machine_gone(row);
    if (step.change == Change::lose) {
      silent_.insert(row);
      if (auto done = apply(living::NodeUnreachable{node->id}); !done) return done;
    } else {
      gone.node_ids.push_back(node->id);
    }
  }
  if (step.change == Change::lose) return {};
  if (auto done = apply(gone); !done) return done;
  for (const std::string& id : gone.node_ids) {
    const std::string& name = machines_.at(id).name;
    removed_[id] = name.empty() ? id : name;
    machines_.erase(id);
  }
  return {};
}

// ---------------------------------------------------------------- time

bool WhatIf::at_rest() const {
  if (cluster_->now() - watch_.last_written_ns() < kQuiet || watch_.waiting_for_clients() > 0) return false;
  const tables::NodeTable& nodes = state().nodes;
  for (const NodeRow row : silent_)
    if (nodes.exists(row) && nodes.status(row) == tables::NodeStatus::ready) return false;
  for (NodeRow row = 0; row < nodes.size(); ++row)
    if (nodes.exists(row) && (nodes.state[row] & tables::kDraining) != 0) return false;
  return true;
}

/// Advances time until the cluster is at rest, for the maximum length of a step, or until a signal.
void WhatIf::settle() {
  const std::int64_t end = cluster_->now() + settings_.step_most_ns;
  settled_ = false;
  while (cluster_->now() < end && !run::interrupted()) {
    cluster_->run_until(std::min(end, cluster_->now() + kLook));
    if (at_rest()) {
      settled_ = true;
      return;
    }
  }
}

Result<StepReport, std::string> WhatIf::take(const Step& step) {
  StepReport report;
  report.words = step.words;
  report.before = packing();
  std::set<std::pair<std::string, std::string>> waited;
  for (const Waiting& one : waiting()) waited.emplace(one.job, one.group);
  const std::int64_t began = cluster_->now();
  watch_.begin_step();
  if (auto made = make(step, report); !made) return tl::unexpected(made.error());
  settle();
  watch_.end_step();
  report.settled = settled_;
  report.length_s = static_cast<double>(watch_.last_written_ns() - began) / 1e9;
  report_allocs(report);
  report_groups(step, report);
  report.waiting = waiting();
  for (Waiting& one : report.waiting) one.before = waited.count({one.job, one.group}) != 0;
  report.after = packing();
  return report;
}

// ---------------------------------------------------------------- reports

void WhatIf::report_allocs(StepReport& report) const {
  const tables::AllocTable& allocs = state().allocs;
  const auto name_of = [&](Symbol group, std::uint32_t number) {
    return number == tables::kOddName ? state().text(group) : fmt::format("{}[{}]", state().text(group), number);
  };
  std::vector<Placed> live;
  std::set<AllocRow> replaced;
  for (const Placed& one : watch_.placed()) {
    if (one.row == kNoRow || allocs.terminal(one.row)) continue;
    live.push_back(one);
    if (one.replaced != kNoRow) replaced.insert(one.replaced);
  }
  // Ended allocations that no link leads to, by job, group and number. Those of system jobs have equal names on many
  // nodes; only the one on the same node is replaced.
  using Place = std::tuple<JobKeyRow, Symbol, std::uint32_t, NodeRow>;
  std::map<Place, const Ended*> places;
  const auto place_of = [&](JobKeyRow job, Symbol group, std::uint32_t number, NodeRow node) {
    return Place(job, group, number, is_of_system(job) ? node : kNoRow);
  };
  for (const Ended& one : watch_.ended())
    if (replaced.count(one.row) == 0 && one.number != tables::kOddName)
      places.emplace(place_of(one.group.job, one.group.name, one.number, one.node), &one);
  for (Placed& one : live) {
    const AllocRow row = one.row;
    if (one.replaced == kNoRow) {
      const auto place =
          places.find(place_of(allocs.job_key[row], allocs.group[row], allocs.name_index[row], allocs.node[row]));
      if (place != places.end()) {
        one.replaced = place->second->row, one.from = place->second->node;
        replaced.insert(one.replaced);
        places.erase(place);
      }
    }
    report.placements.push_back({name_of(allocs.group[row], allocs.name_index[row]), job_words(allocs.job_key[row]),
                                 node_words(allocs.node[row]), one.from == kNoRow ? "" : node_words(one.from)});
  }
  for (const Ended& one : watch_.ended()) {
    if (one.evicted)
      report.evictions.push_back({name_of(one.group.name, one.number), job_words(one.group.job), node_words(one.node),
                                  one.evictor == kNoRow ? "" : job_words(one.evictor)});
    else if (replaced.count(one.row) == 0)
      ++report.stopped;
  }
  const auto by_job = [](const auto& a, const auto& b) { return std::tie(a.job, a.alloc) < std::tie(b.job, b.alloc); };
  std::stable_sort(report.placements.begin(), report.placements.end(), by_job);
  std::stable_sort(report.evictions.begin(), report.evictions.end(), by_job);
}

/// How many allocations of a group may be away at once by its job, for steps that respect this.
std::optional<std::int64_t> allowed_away(const Step& step, const model::TaskGroup& group, const std::string& job) {
  if (step.change == Change::drain || step.change == Change::upgrade)
    return group.migrate ? std::optional<std::int64_t>(group.migrate->max_parallel) : std::nullopt;
  if (step.change == Change::submit && group.update && !job.empty()) return group.update->max_parallel;
  return std::nullopt;
}

void WhatIf::report_groups(const Step& step, StepReport& report) const {
  for (const auto& [key, group] : watch_.groups()) {
    if (group.away_most == 0) continue;
    Shortfall one;
    one.job = job_words(key.job), one.group = state().text(key.name);
    one.ran = group.ran, one.away_most = group.away_most, one.away_end = group.away;
    one.below_s = static_cast<double>(group.below_ns) / 1e9, one.missing_s = group.missing_s;
    const tables::VersionRow version = state().jobs.keys[key.job].current;
    if (version != kNoRow)
      for (const tables::CompiledGroup& compiled : state().jobs.versions[version]->groups)
        if (compiled.name == key.name) one.allowed = allowed_away(step, *compiled.spec, one.job);
    report.shortfalls.push_back(std::move(one));
  }
  std::stable_sort(report.shortfalls.begin(), report.shortfalls.end(),
                   [](const Shortfall& a, const Shortfall& b) { return a.missing_s > b.missing_s; });
}

std::vector<Waiting> WhatIf::waiting() const {
  std::map<std::pair<std::string, std::string>, Waiting> out;
  const tables::EvalTable& evals = state().evals;
  for (tables::StoredEvalRow row = 0; row < evals.size(); ++row) {
    if (!evals.exists(row) || evals.status[row] != tables::kEvalBlocked) continue;
    const auto eval = state().eval(row);
    if (!eval) continue;
    const JobKeyRow job = evals.job_key[row];
    const tables::VersionRow version = state().jobs.keys[job].current;
    // It follows one whose plans were refused, which records no groups.
    if (eval->failed_tg_allocs.empty() && version != kNoRow && !is_of_system(job))
      for (const tables::CompiledGroup& group : state().jobs.versions[version]->groups) {
        const std::string& name = state().text(group.name);
        const std::int64_t missing = watch_.missing(job, name).value_or(group.count);
        if (missing > 0)
          out.emplace(std::pair(job_words(job), name), Waiting{.job = job_words(job),
                                                               .group = name,
                                                               .missing = missing,
                                                               .reasons = "the plan applier refuses the plans"});
      }
    for (const auto& [name, metric] : eval->failed_tg_allocs) {
      Waiting& one = out[{job_words(job), name}];
      one.job = job_words(job), one.group = name;
      // A blocked evaluation that placed a part has the initially missing number; the groups have the present one.
      const std::optional<std::int64_t> missing = watch_.missing(job, name);
      one.missing = missing ? *missing : metric.coalesced_failures + 1;
      one.reasons = reasons_of(metric);
    }
  }
  std::vector<Waiting> list;
  for (auto& [key, one] : out) list.push_back(std::move(one));
  return list;
}

Packing WhatIf::packing() const {
  Packing out;
  const tables::NodeTable& nodes = state().nodes;
  std::int64_t cpu_held = 0, memory_held = 0;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (!nodes.exists(row) || nodes.status(row) == tables::NodeStatus::down) continue;
    const tables::NodeUse& use = nodes.use[row];
    ++out.nodes, out.used_nodes += use.alloc_count > 0, out.eligible_nodes += nodes.ready(row);
    out.allocs += use.alloc_count;
    out.cpu_mhz += nodes.capacity(row).cpu_mhz, out.memory_mb += nodes.capacity(row).memory_mb;
    cpu_held += use.cpu_mhz, memory_held += use.memory_mb;
    if (settings_.prices.empty()) continue;
    const auto machine = machines_.find(base::to_text(nodes.id(row)));
    if (machine == machines_.end()) continue;
    for (const auto& [selector, price] : settings_.prices)
      if (selector.matches(machine->second)) {
        out.price_per_hour = out.price_per_hour.value_or(0) + price;
        break;
      }
  }
  const auto share = [](std::int64_t held, std::int64_t all) {
    return all > 0 ? static_cast<double>(held) / static_cast<double>(all) : 0;
  };
  out.cpu = share(cpu_held, out.cpu_mhz), out.memory = share(memory_held, out.memory_mb);
  return out;
}

}  // namespace berth::whatif
