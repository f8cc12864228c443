// Compiles a job version: strings become symbols, targets columns, requests numbers. Runs once, at registration.
#include <algorithm>
#include <limits>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "model/flatten.h"
#include "model/job.h"
#include "tables/kinds.h"
#include "tables/state.h"

namespace berth::tables {
namespace {

std::int64_t add_saturating(std::int64_t a, std::int64_t b) {  // R-MODEL-374
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// R-FEAS-1402: sets the allowed count, or the error text that filters every node.
void set_allowed(CompiledDistinctProperty& out, const std::string& rtarget) {
  if (rtarget.empty()) return;
  if (const auto value = base::parse_uint64(rtarget)) {
    out.allowed = *value;
    return;
  }
  const bool digits = std::all_of(rtarget.begin(), rtarget.end(), [](char c) { return c >= '0' && c <= '9'; });
  const std::string quoted = base::go_quote(rtarget);
  out.error = "failed to convert RTarget " + quoted + " to uint64: strconv.ParseUint: parsing " + quoted +
              (digits ? ": value out of range" : ": invalid syntax");
}

void sort_unique(std::vector<std::string>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

CompiledTask ask_of(const model::Resources& r) {
  CompiledTask out;
  out.cpu_mhz = r.cpu;
  out.memory_mb = add_saturating(r.memory_mb, r.secrets_mb);
  if (r.memory_max_mb > 0)
    out.memory_max_mb = add_saturating(r.memory_max_mb, r.secrets_mb);
  else if (r.memory_max_mb == -1)
    out.memory_max_mb = -1;  // R-MODEL-375
  out.cores =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(r.cores, 0, std::numeric_limits<std::uint32_t>::max()));
  out.network = !r.networks.empty();
  out.devices = !r.devices.empty();
  return out;
}

void add_network_needs(const model::NetworkResource& network, Needs& out) {
  out.add(Need::network);
  const auto node_decides = [](const model::Port& port) { return port.host_network.find('$') != std::string::npos; };
  for (const model::Port& port : network.dynamic_ports) {
    out.add(node_decides(port) ? Need::odd_ports : Need::dynamic_ports);
    if (port.host_network != network.dynamic_ports.front().host_network) out.add(Need::several_host_networks);
  }
  for (const model::Port& port : network.reserved_ports) {
    const bool odd = node_decides(port) || port.value <= 0 || port.value > 65'535 || port.ignore_collision;
    out.add(odd ? Need::odd_ports : Need::static_ports);
  }
}

void add_device_needs(const model::RequestedDevice& request, Needs& out) {
  out.add(Need::devices);
  const auto names_ids = [](const std::string& text) { return text.find("device.ids") != std::string::npos; };
  const bool by_id = std::any_of(request.constraints.begin(), request.constraints.end(), [&](const auto& constraint) {
    return names_ids(constraint.ltarget) || names_ids(constraint.rtarget);
  });
  out.add(Need::device_ids, by_id || request.count == 0);
}

/// The group's own needs; everything else of it must be compiled.
Needs needs_of(const CompiledGroup& group) {
  Needs out;
  if (group.has_network) add_network_needs(group.spec->networks.front(), out);
  out.add(Need::task_network, group.has_task_network);
  out.add(Need::devices, group.has_devices);
  for (const model::Task& task : group.spec->tasks)
    if (task.resources)
      for (const model::RequestedDevice& request : task.resources->devices) add_device_needs(request, out);
  out.add(Need::cores, group.has_cores);
  out.add(Need::host_volumes, group.has_host_volumes);
  out.add(Need::csi_volumes, group.has_csi_volumes);
  for (const auto& [alias, volume] : group.spec->volumes)
    out.add(Need::own_volumes, volume && (volume->per_alloc || (volume->type == "host" && volume->sticky)));
  out.add(Need::distinct_hosts, group.distinct_hosts);
  out.add(Need::distinct_property, !group.distinct_properties.empty());
  out.add(Need::affinity, !group.affinities.empty());
  out.add(Need::spread, !group.spreads.empty());
  out.add(Need::escapes, group.escapes);
  out.add(Need::secrets, !group.secrets.empty());
  for (const std::int64_t amount : {group.cpu_mhz, group.memory_mb, group.disk_mb})
    out.add(Need::wide_amounts, amount < 0 || amount > std::numeric_limits<std::int32_t>::max());
  out.add(Need::no_ask_number, !group.ask);
  return out;
}

}  // namespace

const std::string& CompiledJob::name_base() const { return is_of_system(type) ? spec->name : spec->id; }

ColumnId StateStore::column_of(const match::Target& target) {
  switch (target.kind) {
    case match::TargetKind::datacenter:
      return kDatacenterColumn;
    case match::TargetKind::node_name:
      return kNameColumn;
    case match::TargetKind::node_class:
      return kClassColumn;
    case match::TargetKind::node_pool:
      return kPoolColumn;
    case match::TargetKind::attribute:
      return column_for(KeyKind::attribute, target.key);
    case match::TargetKind::meta:
      return column_for(KeyKind::meta, target.key);
    case match::TargetKind::literal:
    case match::TargetKind::node_id:
    case match::TargetKind::unresolved:
      break;
  }
  return kNoColumn;
}

ColumnTarget StateStore::column_target(std::string_view target) {
  ColumnTarget out{match::parse_target(target), kNoColumn};
  out.column = column_of(out.target);
  return out;
}

ConstraintId StateStore::constraint_id(const std::string& ltarget, const std::string& operand,
                                       const std::string& rtarget) {
  std::string key;
  for (const std::string* part : {&ltarget, &operand, &rtarget}) base::append_sized(key, *part);
  const auto [id, added] = shared_.constraints.find_or_add(std::move(key));
  if (!added) return id;
  auto compiled = std::make_shared<CompiledConstraint>();
  compiled->test = match::compile(ltarget, operand, rtarget, patterns_);
  compiled->left = column_of(compiled->test.left);
  compiled->right = column_of(compiled->test.right);
  compiled->number = ++numbers_;
  compiled->reason = ltarget + " " + operand + " " + rtarget;
  model::Constraint raw;
  raw.ltarget = ltarget;
  raw.rtarget = rtarget;
  raw.operand = operand;
  compiled->escapes = match::escapes_class(raw);
  if (id == current_.constraints.size())
    current_.constraints.push_back(std::move(compiled));
  else
    current_.constraints.edit(id) = std::move(compiled);
  return id;
}

void StateStore::compile_constraints(const std::vector<model::Constraint>& list, std::vector<ConstraintId>& ids,
                                     bool& escapes) {
  for (const model::Constraint& c : list) {
    const ConstraintId id = constraint_id(c.ltarget, c.operand, c.rtarget);
    ids.push_back(id);
    escapes = escapes || current_.constraints[id]->escapes;
  }
}

void StateStore::compile_affinities(const std::vector<model::Affinity>& list, std::vector<CompiledAffinity>& out) {
  for (const model::Affinity& a : list) out.push_back({constraint_id(a.ltarget, a.operand, a.rtarget), a.weight});
}

void StateStore::compile_spreads(const std::vector<model::Spread>& list, std::vector<CompiledSpread>& out) {
  for (const model::Spread& s : list) {
    CompiledSpread& spread = out.emplace_back();
    spread.attribute = symbols_.intern(s.attribute);
    spread.target = column_target(s.attribute);
    spread.weight = s.weight;
    for (const model::SpreadTarget& t : s.targets) spread.targets.push_back({symbols_.intern(t.value), t.percent});
  }
}

void StateStore::compile_distinct(const std::vector<model::Constraint>& list,
                                  std::vector<CompiledDistinctProperty>& out) {
  for (const model::Constraint& c : list) {
    if (c.operand != "distinct_property") continue;
    CompiledDistinctProperty& property = out.emplace_back();
    property.target = column_target(c.ltarget);
    property.target_text = symbols_.intern(c.ltarget);
    set_allowed(property, c.rtarget);
  }
}

std::shared_ptr<const CompiledJob> StateStore::compile(const std::shared_ptr<const model::Job>& job, bool current) {
  auto out = std::make_shared<CompiledJob>();
  out->spec = job;
  out->key = key_row(job->namespace_, job->id, current ? job : nullptr);
  out->job_id = current_.jobs.keys[out->key].job_id;
  out->job_namespace = current_.jobs.keys[out->key].job_namespace;
  out->priority = job->priority;
  out->type = model::parse_job_type(job->type);
  out->stopped = job->stop;
  out->version = job->version, out->create_index = job->create_index;
  out->base_set = base_set_id(*job);
  compile_constraints(job->constraints, out->constraints, out->escapes);
  compile_spreads(job->spreads, out->spreads);
  compile_distinct(job->constraints, out->distinct_properties);
  out->distinct_hosts = match::has_distinct_hosts(job->constraints);
  if (const CompiledJob* like = compiled_like(*out)) {
    out->group_list = like->group_list;
  } else {
    auto groups = std::make_shared<std::vector<CompiledGroup>>();
    groups->reserve(job->task_groups.size());
    for (const model::TaskGroup& spec : job->task_groups) compile_group(*out, spec, groups->emplace_back());
    out->group_list = std::move(groups);
  }
  out->groups = *out->group_list;
  out->group_number = numbers_ + 1;
  numbers_ += out->groups.size();
  out->needs.add(Need::several_groups, out->groups.size() != 1);
  out->needs.add(Need::escapes, out->escapes);
  out->needs.add(Need::distinct_hosts, out->distinct_hosts);
  out->needs.add(Need::distinct_property, !out->distinct_properties.empty());
  out->needs.add(Need::spread, !out->spreads.empty());
  out->gang = compile_gang(*job);
  return out;
}

/// Null: the job is no gang, or an imported one whose keys registration would have refused.
std::shared_ptr<const CompiledGang> StateStore::compile_gang(const model::Job& job) {
  const auto rules = model::parse_gang(job.meta, job.type);
  if (!rules || !*rules) return nullptr;
  auto out = std::make_shared<CompiledGang>();
  out->rules = **rules;
  if (!out->rules.target.empty()) out->target = column_target(out->rules.target);
  const std::int64_t timeout_ns = out->rules.timeout_ns;
  if (timeout_ns > 0 && job.submit_time < INT64_MAX - timeout_ns) out->limit_ns = job.submit_time + timeout_ns;
  return out;
}

/// A version with the groups of `job` and an equal compilation: jobs of one form share their task groups.
const CompiledJob* StateStore::compiled_like(const CompiledJob& job) const {
  const model::Job& spec = *job.spec;
  const auto known = group_lists_.find(spec.task_groups.list().data());
  if (spec.task_groups.empty() || known == group_lists_.end()) return nullptr;
  const CompiledJob& other = *current_.jobs.versions[known->second];
  const bool alike = other.spec->task_groups.shares(spec.task_groups) && other.priority == job.priority &&
                     other.type == job.type && other.base_set == job.base_set && other.constraints == job.constraints &&
                     other.spec->affinities == spec.affinities && other.spec->spreads == spec.spreads;
  return alike ? &other : nullptr;
}

void StateStore::compile_group(const CompiledJob& job, const model::TaskGroup& spec, CompiledGroup& group) {
  group.spec = &spec;
  group.name = symbols_.intern(spec.name);
  group.count = spec.count;
  compile_constraints(spec.constraints, group.constraints, group.escapes);
  compile_affinities(job.spec->affinities, group.affinities);
  compile_affinities(spec.affinities, group.affinities);
  compile_spreads(spec.spreads, group.spreads);
  compile_distinct(spec.constraints, group.distinct_properties);
  group.distinct_hosts = match::has_distinct_hosts(spec.constraints);
  group.has_network = !spec.networks.empty();
  group.dynamic_ports_only =
      group.has_network && spec.networks.front().reserved_ports.empty() &&
      std::none_of(spec.networks.front().dynamic_ports.begin(), spec.networks.front().dynamic_ports.end(),
                   [](const model::Port& port) { return port.host_network.find('$') != std::string::npos; });
  for (const auto& [alias, volume] : spec.volumes) {
    if (!volume) continue;
    group.has_host_volumes = group.has_host_volumes || volume->type == "host";
    group.has_csi_volumes = group.has_csi_volumes || volume->type == "csi";
    group.claims_alone = group.claims_alone || volume->access_mode == "single-node-single-writer";
  }
  group.escapes = group.escapes || group.has_csi_volumes;  // R-FEAS-406
  compile_tasks(spec, group);
  sort_unique(group.drivers);
  for (const std::string& driver : group.drivers) group.driver_symbols.push_back(symbols_.intern(driver));
  sort_unique(group.secrets);
  if (std::string checks = checks_text(job, group); !checks.empty()) {
    const auto [id, added] = shared_.checks.find_or_add(std::move(checks));
    shared_.check_numbers.resize(shared_.checks.size());
    if (added) shared_.check_numbers[id] = ++numbers_;
    group.checks = id, group.checks_number = shared_.check_numbers[id];
  }
  group.shape_id = shape_id(group.shape);
  group.shape_oversubscribed_id = shape_id(group.shape_oversubscribed);
  group.cpu_mhz = group.shape->cpu_mhz;
  group.memory_mb = group.shape->memory_mb;
  group.disk_mb = group.shape->disk_mb;
  if (group.checks != kNoRow) group.ask = intern_ask(group);
  group.needs = needs_of(group);
}

std::shared_ptr<const Ask> StateStore::intern_ask(const CompiledGroup& group) {
  Ask ask{0, group.checks_number, group.cpu_mhz, group.memory_mb, group.disk_mb, {}, {}};
  if (group.has_network || group.has_task_network || group.has_devices || group.has_cores) {
    ask.networks = group.spec->networks;
    for (const model::Task& task : group.spec->tasks) ask.tasks.emplace_back(task.resources, task.lifecycle);
  }
  const auto content = [](const Ask& a) {
    return std::tie(a.checks, a.cpu_mhz, a.memory_mb, a.disk_mb, a.networks, a.tasks);
  };
  std::size_t hash = 0;
  for (const std::int64_t part : {static_cast<std::int64_t>(ask.checks), ask.cpu_mhz, ask.memory_mb, ask.disk_mb})
    hash = base::BitHash()(hash ^ static_cast<std::uint64_t>(part));
  for (auto [at, end] = asks_.equal_range(hash); at != end; ++at)
    if (auto known = at->second.lock(); known && content(*known) == content(ask)) return known;
  if (asks_.size() > 2 * asks_kept_ + 64) {  // those that ended are erased when they may be half of all
    std::erase_if(asks_, [](const auto& entry) { return entry.second.expired(); });
    asks_kept_ = asks_.size();
  }
  ask.number = ++numbers_;
  auto out = std::make_shared<const Ask>(std::move(ask));
  asks_.emplace(hash, out);
  return out;
}

void StateStore::compile_tasks(const model::TaskGroup& spec, CompiledGroup& group) {
  auto plain = std::make_shared<model::AllocatedResources>();
  plain->shared.disk_mb = spec.ephemeral_disk ? spec.ephemeral_disk->size_mb : 0;
  bool may_hold_more = false;  // with oversubscription
  for (const model::Task& task : spec.tasks) {
    compile_constraints(task.constraints, group.constraints, group.escapes);
    compile_affinities(task.affinities, group.affinities);
    group.drivers.push_back(task.driver);
    for (const json::Value& secret : task.secrets.items()) group.secrets.push_back(secret["Provider"].as_string());
    CompiledTask& compiled = group.tasks.emplace_back(task.resources ? ask_of(*task.resources) : CompiledTask{});
    compiled.name = symbols_.intern(task.name);
    group.has_task_network = group.has_task_network || compiled.network;
    group.has_devices = group.has_devices || compiled.devices;
    group.has_cores = group.has_cores || compiled.cores > 0;
    group.cores += compiled.cores;
    model::AllocatedTask allocated;
    allocated.cpu.cpu_shares = compiled.cpu_mhz;
    allocated.memory.memory_mb = compiled.memory_mb;
    may_hold_more = may_hold_more || compiled.memory_max_mb != allocated.memory.memory_max_mb;
    plain->tasks[task.name] = allocated;
    plain->task_lifecycles[task.name] = task.lifecycle;
  }
  group.shape = group.shape_oversubscribed = make_shape(plain);
  if (group.has_cores) {
    model::AllocatedResources others = *plain;
    for (std::size_t i = 0; i < spec.tasks.size(); ++i)
      if (group.tasks[i].cores > 0) others.tasks[spec.tasks[i].name].cpu.cpu_shares = 0;
    group.cpu_without_cores_mhz = model::flatten(others).cpu_mhz;
  }
  if (!may_hold_more) return;
  auto oversubscribed = std::make_shared<model::AllocatedResources>(*plain);
  for (std::size_t i = 0; i < spec.tasks.size(); ++i)
    oversubscribed->tasks[spec.tasks[i].name].memory.memory_max_mb = group.tasks[i].memory_max_mb;
  group.shape_oversubscribed = make_shape(oversubscribed);
}

}  // namespace berth::tables
