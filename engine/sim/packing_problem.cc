#include "sim/packing_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/go_rand.h"
#include "base/text.h"
#include "feasible/constraints.h"
#include "feasible/drivers.h"
#include "match/device_match.h"
#include "model/gang.h"
#include "model/job.h"
#include "model/registration/node_canonical.h"
#include "sim/inputs.h"
#include "strategy/fragments.h"

namespace berth::sim {
namespace {

using strategy::kCpu;
using strategy::kDisk;
using strategy::kGpu;
using strategy::kMemory;

std::int32_t amount(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, 1'900'000'000));
}

std::int64_t healthy(const model::NodeDevice& device) {
  return std::count_if(device.instances.begin(), device.instances.end(), [](const auto& i) { return i.healthy; });
}

/// Nodes of one shape, datacenter and rack differ only in unique attributes.
using NodeKind = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
NodeKind kind_of(const NodeRecord& record) { return {record.shape, record.datacenter, record.rack}; }

/// The compiled checks of a job's group on a node, without amounts.
class GroupEligibility {
 public:
  GroupEligibility(const model::Job& job, const model::TaskGroup& group, match::Patterns& patterns)
      : job_(job),
        patterns_(patterns),
        of_job_(feasible::compile(job.constraints, patterns)),
        of_group_(feasible::compile_group(group, patterns)),
        drivers_(feasible::required_drivers(group)) {
    const auto escapes = [](const std::vector<model::Constraint>& list) {
      return std::any_of(list.begin(), list.end(), match::escapes_class);
    };
    unique = escapes(job.constraints) || escapes(group.constraints);
    for (const model::Task& task : group.tasks) {
      unique |= escapes(task.constraints);
      if (task.resources)
        for (const model::RequestedDevice& device : task.resources->devices)
          requests_.push_back(match::compile_device(device));
    }
  }

  bool operator()(const model::Node& node) const {
    if (node.status != "ready" || node.scheduling_eligibility == "ineligible") return false;
    if (!job_.node_pool.empty() && job_.node_pool != "all" && job_.node_pool != node.node_pool) return false;
    const auto& wanted = job_.datacenters;
    if (std::none_of(wanted.begin(), wanted.end(),
                     [&](const std::string& pattern) { return base::glob_match(pattern, node.datacenter); }))
      return false;
    if (feasible::first_failing(of_job_, node, patterns_) || feasible::first_failing(of_group_, node, patterns_))
      return false;
    if (!feasible::has_drivers(node, drivers_)) return false;
    if (requests_.empty()) return true;
    // Only a node's first device group is used.
    if (!node.node_resources || node.node_resources->devices.empty()) return false;
    return std::all_of(requests_.begin(), requests_.end(), [&](const match::DeviceRequest& request) {
      const auto fits = match::matches(request, node.node_resources->devices.front(), patterns_);
      return fits && *fits;
    });
  }

  bool unique = false;  ///< depends on unique attributes of a node

 private:
  const model::Job& job_;
  match::Patterns& patterns_;
  feasible::ConstraintList of_job_, of_group_;
  std::set<std::string> drivers_;
  std::vector<match::DeviceRequest> requests_;
};

bool has_distinct(const std::vector<model::Constraint>& list, const char* operand) {
  return std::any_of(list.begin(), list.end(), [&](const auto& c) { return c.operand == operand; });
}

/// Amounts and devices of one task of a group.
strategy::TaskClass ask_of(const model::Job& job, const model::TaskGroup& group, std::int64_t gpu_shares,
                           std::set<std::string>& left_out) {
  strategy::TaskClass out;
  std::int64_t cpu = 0, memory = 0, disk = group.ephemeral_disk ? group.ephemeral_disk->size_mb : 0, shares = 0;
  for (const model::Task& task : group.tasks) {
    if (!task.resources) continue;
    cpu += task.resources->cpu, memory += task.resources->memory_mb;
    for (const model::RequestedDevice& device : task.resources->devices)
      shares += static_cast<std::int64_t>(device.count);
    if (task.resources->cores > 0) left_out.insert("reserved cores");
    if (!task.resources->networks.empty()) left_out.insert("ports");
  }
  if (!group.networks.empty()) left_out.insert("ports");
  if (!group.volumes.empty()) left_out.insert("volumes");
  if (!job.spreads.empty() || !group.spreads.empty()) left_out.insert("spreads");
  if (!job.affinities.empty() || !group.affinities.empty()) left_out.insert("affinities");
  if (has_distinct(job.constraints, "distinct_property") || has_distinct(group.constraints, "distinct_property"))
    left_out.insert("distinct_property");
  if (job.meta.contains(model::kGangKey)) left_out.insert("gangs");
  out.ask = {amount(cpu), amount(memory), amount(disk), 0};
  out.priority = static_cast<std::int32_t>(job.priority);
  if (shares > 0 && shares < gpu_shares) {
    out.gpus = 1, out.gpu_milli = static_cast<std::int32_t>((shares * 1000 + gpu_shares - 1) / gpu_shares);
  } else if (shares > 0) {
    out.gpus = static_cast<std::int32_t>((shares + gpu_shares - 1) / gpu_shares), out.gpu_milli = 1000;
  }
  return out;
}

/// Equal rates are one kind. Null if the cluster has none. Sets the kind of each of `shapes`.
Result<std::shared_ptr<const strategy::RateTable>> rate_table(const GeneratedCluster& cluster, const std::string& path,
                                                              std::vector<strategy::Fleet::NodeSpec>& shapes) {
  if (cluster.rates.empty() || cluster.rates.size() != cluster.shapes.size()) return nullptr;
  auto out = std::make_shared<strategy::RateTable>();
  for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
    const strategy::NodeRates& rates = cluster.rates[shape];
    auto kind = std::find(out->kinds.begin(), out->kinds.end(), rates);
    if (kind == out->kinds.end()) kind = out->kinds.insert(kind, rates);
    shapes[shape].kind = static_cast<std::uint16_t>(kind - out->kinds.begin());
    out->power |= rates.package_cpu > 0, out->price |= rates.price_micro > 0;
  }
  if (out->kinds.size() > UINT16_MAX)
    return tl::unexpected(InputError{path, "", "has more than 65,535 kinds of nodes by power and price", "use fewer"});
  return out;
}

}  // namespace

std::array<double, strategy::kDimensions> PackingProblem::demand_mean() const {
  std::array<double, strategy::kDimensions> sum{};
  const auto total = static_cast<double>(asked());
  if (total == 0) return sum;
  for (const PackingArrival& a : arrivals) {
    const strategy::TaskClass& task = classes[a.task];
    const double amounts[] = {double(task.ask[kCpu]), double(task.ask[kMemory]), double(task.ask[kDisk]),
                              double(task.gpus) * task.gpu_milli};
    for (std::size_t d = 0; d < strategy::kDimensions; ++d) sum[d] += a.count * amounts[d] / total;
  }
  return sum;
}

strategy::Context PackingProblem::context() const {
  strategy::Context out;
  for (const auto& node : nodes) {
    for (const strategy::Dimension d : {kCpu, kMemory, kDisk})
      out.capacity_max[d] = std::max(out.capacity_max[d], node.capacity[d]);
    out.capacity_max[kGpu] = std::max(out.capacity_max[kGpu], node.devices * 1000);
  }
  out.demand_mean = demand_mean();
  out.rates = rates;
  std::vector<strategy::ShapeCount> shapes;
  for (const PackingArrival& a : arrivals) {
    const strategy::TaskClass& task = classes[a.task];
    // The models that a class accepts, in the format of the fragment measure.
    std::string spec;
    if (task.gpus > 0 && !task.eligible.empty()) {
      std::vector<bool> accepted(models.size(), false);
      for (std::size_t node = 0; node < nodes.size(); ++node)
        if (task.may_run_on(static_cast<strategy::Row>(node))) accepted[nodes[node].model] = true;
      for (std::size_t model = 1; model < models.size(); ++model)
        if (accepted[model]) spec += models[model], spec += '|';
    }
    shapes.push_back({task.ask[kCpu], task.gpus, task.gpu_milli, spec, a.count});
  }
  out.fragments = std::make_shared<strategy::FragmentTables>(strategy::typical_workload(std::move(shapes)), models);
  return out;
}

Result<PackingProblem> packing_problem(const GeneratedCluster& cluster, const JobStream& jobs, std::int64_t gpu_shares,
                                       const std::string& path) {
  PackingProblem out;
  out.models.push_back("");
  std::map<NodeKind, std::vector<std::uint32_t>> kinds;
  std::vector<strategy::Fleet::NodeSpec> shape_specs;
  for (model::Node shape : cluster.shapes) {
    model::canonicalize(shape);
    strategy::Fleet::NodeSpec spec;
    if (shape.node_resources) {
      const model::NodeResources& r = *shape.node_resources;
      const model::Topology* topology = model::topology_of(shape);
      std::int64_t cpu = topology ? static_cast<std::int64_t>(model::total_compute_mhz(*topology)) : 0;
      std::int64_t memory = r.memory.memory_mb, disk = r.disk.disk_mb;
      if (shape.reserved_resources) {
        cpu -= shape.reserved_resources->cpu.cpu_shares;
        memory -= shape.reserved_resources->memory.memory_mb;
        disk -= shape.reserved_resources->disk.disk_mb;
      }
      spec.capacity = {amount(cpu), amount(memory), amount(disk), 0};
      if (r.devices.size() > 1) out.left_out.insert("device groups after a node's first");
      if (!r.devices.empty()) {
        const model::NodeDevice& group = r.devices.front();
        const std::int64_t devices = healthy(group) / gpu_shares;
        if (devices > static_cast<std::int64_t>(strategy::kDevicesMax))
          return tl::unexpected(InputError{path, "", fmt::format("a node has {} devices", devices),
                                           fmt::format("strategies take at most {}", strategy::kDevicesMax)});
        spec.devices = static_cast<std::uint16_t>(devices);
        const std::string name = fmt::format("{}/{}/{}", group.vendor, group.type, group.name);
        const auto known = std::find(out.models.begin(), out.models.end(), name);
        spec.model = static_cast<std::uint16_t>(known - out.models.begin());
        if (known == out.models.end()) out.models.push_back(name);
      }
    }
    shape_specs.push_back(spec);
  }
  auto rates = rate_table(cluster, path, shape_specs);
  if (!rates) return tl::unexpected(rates.error());
  out.rates = std::move(*rates);
  for (std::uint32_t node = 0; node < cluster.nodes.size(); ++node) {
    const NodeRecord& record = cluster.nodes[node];
    out.nodes.push_back(shape_specs[record.shape]);
    const model::Node& shape = cluster.shapes[record.shape];
    out.node_classes.push_back(shape.node_class.empty() ? fmt::format("shape-{}", record.shape) : shape.node_class);
    kinds[kind_of(record)].push_back(node);
  }
  std::vector<std::pair<model::Node, const std::vector<std::uint32_t>*>> examples;
  for (const auto& [kind, nodes] : kinds) {
    model::Node node = cluster.node(nodes.front());
    model::canonicalize(node);
    examples.emplace_back(std::move(node), &nodes);
  }

  match::Patterns patterns;
  using ClassKey = std::tuple<strategy::Amounts, std::int32_t, std::int32_t, std::int32_t, std::vector<std::uint64_t>>;
  std::map<ClassKey, strategy::ClassId> ids;
  const auto class_of = [&](strategy::TaskClass task) {
    ClassKey key{task.ask, task.gpus, task.gpu_milli, task.priority, task.eligible};
    const auto [at, fresh] = ids.try_emplace(std::move(key), static_cast<strategy::ClassId>(out.classes.size()));
    if (fresh) out.classes.push_back(std::move(task));
    return at->second;
  };
  const std::size_t n = cluster.nodes.size();
  for (std::size_t i = 0; i < cluster.load.size(); ++i) {
    const LoadRecord& record = cluster.load[i];
    const model::Job& job = *cluster.load_jobs[record.job];
    out.load.push_back({record.node, class_of(ask_of(job, job.task_groups.front(), gpu_shares, out.left_out))});
  }
  struct Group {
    strategy::ClassId task;
    std::uint32_t count;
    bool distinct_hosts;
    std::int32_t migrates;
  };
  std::vector<std::vector<Group>> templates;
  for (const auto& job : jobs.templates) {
    auto& groups = templates.emplace_back();
    if (job->type == "system" || job->type == "sysbatch") {
      out.left_out.insert("system and sysbatch jobs");
      continue;
    }
    for (const model::TaskGroup& group : job->task_groups) {
      strategy::TaskClass task = ask_of(*job, group, gpu_shares, out.left_out);
      const GroupEligibility eligible(*job, group, patterns);
      task.eligible.assign((n + 63) / 64, 0);
      std::size_t count = 0;
      const auto accept = [&](std::uint32_t node) {
        task.eligible[node / 64] |= std::uint64_t{1} << (node % 64), ++count;
      };
      for (const auto& [example, nodes] : examples) {
        if (eligible.unique) {
          for (const std::uint32_t node : *nodes) {
            model::Node whole = cluster.node(node);
            model::canonicalize(whole);
            if (eligible(whole)) accept(node);
          }
        } else if (eligible(example)) {
          for (const std::uint32_t node : *nodes) accept(node);
        }
      }
      if (count == n) task.eligible.clear();
      groups.push_back(
          {class_of(std::move(task)), static_cast<std::uint32_t>(std::clamp<std::int64_t>(group.count, 0, INT32_MAX)),
           has_distinct(job->constraints, "distinct_hosts") || has_distinct(group.constraints, "distinct_hosts"),
           group.migrate
               ? static_cast<std::int32_t>(std::clamp<std::int64_t>(group.migrate->max_parallel, 0, INT32_MAX))
               : 0});
    }
  }
  for (const JobArrival& arrival : jobs.arrivals) {
    for (const Group& group : templates[arrival.template_index])
      out.arrivals.push_back({arrival.due_ns, arrival.run_time_ns, group.task, group.count, out.jobs,
                              group.distinct_hosts, group.migrates});
    ++out.jobs;
  }
  return out;
}

strategy::Fleet fleet_of(const PackingProblem& problem, const std::vector<std::uint32_t>& order, bool with_load) {
  std::vector<strategy::Fleet::NodeSpec> specs;
  std::vector<std::uint32_t> row_of(problem.nodes.size(), UINT32_MAX);
  for (std::uint32_t row = 0; row < order.size(); ++row) {
    specs.push_back(problem.nodes[order[row]]);
    row_of[order[row]] = row;
  }
  strategy::Fleet fleet(specs);
  for (strategy::TaskClass task : problem.classes) {
    if (!task.eligible.empty()) {
      std::vector<std::uint64_t> by_row((order.size() + 63) / 64, 0);
      for (std::uint32_t row = 0; row < order.size(); ++row)
        if (task.may_run_on(order[row])) by_row[row / 64] |= std::uint64_t{1} << (row % 64);
      task.eligible = std::move(by_row);
    }
    fleet.add_class(std::move(task));
  }
  if (with_load)
    for (const PackingProblem::Load& load : problem.load) {
      const std::uint32_t row = row_of[load.node];
      if (row == UINT32_MAX || !fleet.holds(row, fleet.task_class(load.task))) continue;
      fleet.place(row, load.task,
                  strategy::choose_devices(fleet.node(row), fleet.task_class(load.task), strategy::DeviceRule::best));
    }
  return fleet;
}

Result<PackingProblem> packing_problem(Workload workload, std::int64_t seed) {
  workload.seed = static_cast<std::uint64_t>(seed);
  const auto inputs = make_inputs(workload);
  if (!inputs) return tl::unexpected(inputs.error());
  auto out = packing_problem(inputs->cluster, inputs->jobs, workload.cluster.gpu_shares, workload.path);
  if (out) out->carbon = inputs->carbon;
  return out;
}

std::vector<std::uint32_t> visiting_order(std::size_t n, std::int64_t seed) {
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0);
  base::GoRand random(seed);
  random.shuffle(out);
  return out;
}

}  // namespace berth::sim
