#include "sim/openb.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/text.h"
#include "io/json_parse.h"
#include "model/job.h"
#include "sim/cluster_generator.h"
#include "sim/csv_rows.h"
#include "sim/job_generator.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMaxSeconds = 9'000'000'000, kMaxGpus = 1'024;
constexpr std::int64_t kDiskMb = 1 << 20;

/// R-STRAT-103: checks the GPU columns of a row.
const char* gpu_contradiction(std::int64_t gpus, std::int64_t gpu_milli) {
  if (gpus > 0 && gpu_milli <= 0) return "asks nothing of its GPUs";
  if (gpus > 1 && gpu_milli < 1000) return "asks parts of several GPUs";
  if (gpus > 1 && gpu_milli > 1000) return "asks more than the whole of several GPUs";
  return nullptr;
}

/// Idle and full power in W of a device and of a processor package, which has `cores` cores of two vCPUs.
struct OpenbPower {
  const char* model;
  std::int32_t device_idle_w, device_max_w, cores, package_idle_w, package_max_w;
};
constexpr OpenbPower kOpenbPower[] = {
    {"", 0, 0, 16, 15, 120},            // Xeon E5-2682 v4
    {"P100", 25, 250, 16, 15, 120},     // Xeon E5-2682 v4
    {"T4", 10, 70, 24, 20, 165},        // Xeon Platinum 8163
    {"V100M16", 30, 300, 16, 20, 185},  // Xeon Gold 6326
    {"V100M32", 30, 300, 16, 20, 185},  // Xeon Gold 6326
    {"A10", 30, 150, 32, 20, 270},      // Xeon Platinum 8369B
    {"A100", 50, 400, 32, 20, 270},     // Xeon Platinum 8369B
    {"G2", 25, 250, 32, 20, 270},       // Xeon Platinum 8369B
    {"G3", 25, 250, 32, 20, 270},       // Xeon Platinum 8369B
};

/// Adds the rates of the last shape. Fewer rates than shapes: the cluster has none, as a model is unknown.
void add_rates(GeneratedCluster& out, const OpenbNode& shape) {
  const auto rates = openb_rates(shape);
  if (rates && out.rates.size() + 1 == out.shapes.size()) out.rates.push_back(*rates);
}

model::Node node_of(const OpenbNode& from, std::int64_t gpu_shares) {
  model::Node node =
      ready_node(std::max<std::int64_t>(1, from.cpu_milli / 1000), 1000, from.memory_mib, kDiskMb, 10'000);
  // The recorded total, if it is not a multiple of a core.
  node.node_resources->cpu.cpu_shares = from.cpu_milli;
  if (from.cpu_milli % 1000 != 0 || from.cpu_milli < 1000)
    node.node_resources->processors->topology->override_total_compute = static_cast<std::uint64_t>(from.cpu_milli);
  node.node_class = from.model.empty() ? "cpu" : "gpu-" + from.model;
  node.attributes = {{"kernel.name", "linux"}, {"arch", "amd64"}, {"driver.exec", "1"}};
  node.drivers["exec"] = model::DriverInfo{
      .attributes = {}, .detected = true, .healthy = true, .health_description = "", .update_time = {}};
  if (from.gpus > 0) {
    node.attributes["gpu.model"] = from.model;
    model::NodeDevice device;
    device.vendor = "alibaba", device.type = "gpu", device.name = from.model;
    for (std::int64_t gpu = 0; gpu < from.gpus; ++gpu)
      for (std::int64_t share = 0; share < gpu_shares; ++share)
        device.instances.push_back({.id = fmt::format("gpu{:02}-{:03}", gpu, share),
                                    .healthy = true,
                                    .health_description = "",
                                    .locality = {}});
    node.node_resources->devices.push_back(std::move(device));
  }
  return node;
}

model::Job job_of(const OpenbTask& task, const std::string& id, std::int64_t gpu_shares) {
  const std::int64_t priority = task.qos == "LS" || task.qos == "Guaranteed" ? 70 : task.qos == "BE" ? 20 : 50;
  model::Job job = registered_job(id, "batch", priority);
  model::TaskGroup group = registered_group("batch", "task", 1, "exec", task.cpu_milli, task.memory_mib, 0);
  group.reschedule_policy = model::ReschedulePolicy{};  // no retries: a recorded failure is final
  if (task.gpus > 0) {
    const std::int64_t per_gpu = (std::min<std::int64_t>(task.gpu_milli, 1000) * gpu_shares + 999) / 1000;
    model::RequestedDevice ask{.name = "alibaba/gpu",
                               .count = static_cast<std::uint64_t>(task.gpus * per_gpu),
                               .constraints = {},
                               .affinities = {}};
    if (!task.gpu_spec.empty()) {
      std::vector<std::string> models;
      for (const std::string_view part : base::split(task.gpu_spec, '|'))
        if (!part.empty() && std::find(models.begin(), models.end(), part) == models.end()) models.emplace_back(part);
      if (models.size() == 1)
        ask.constraints.push_back({"${device.model}", models[0], "="});
      else if (!models.empty())
        ask.constraints.push_back({"${device.model}", base::join(models, ","), "set_contains_any"});
    }
    group.tasks.front().resources->devices.push_back(std::move(ask));
  }
  job.task_groups.push_back(std::move(group));
  return job;
}

/// All values that define a node's shape.
auto shape_key(const OpenbNode& node) { return std::tie(node.model, node.gpus, node.cpu_milli, node.memory_mib); }

/// All values that define a job, except its ID.
auto class_key(const OpenbTask& task) {
  return std::tie(task.cpu_milli, task.memory_mib, task.gpus, task.gpu_milli, task.gpu_spec, task.qos);
}
struct ClassLess {
  bool operator()(const OpenbTask& a, const OpenbTask& b) const { return class_key(a) < class_key(b); }
};
struct ShapeLess {
  bool operator()(const OpenbNode& a, const OpenbNode& b) const { return shape_key(a) < shape_key(b); }
};

}  // namespace

std::optional<strategy::NodeRates> openb_rates(const OpenbNode& node) {
  constexpr std::int32_t kVcpusOfCore = 2, kMilli = 1000;
  for (const OpenbPower& power : kOpenbPower)
    if (node.model == power.model)
      return strategy::NodeRates{.price_micro = 0,
                                 .package_cpu = power.cores * kVcpusOfCore * kMilli,
                                 .package_idle_mw = power.package_idle_w * kMilli,
                                 .package_max_mw = power.package_max_w * kMilli,
                                 .device_idle_mw = power.device_idle_w * kMilli,
                                 .device_max_mw = power.device_max_w * kMilli};
  return std::nullopt;
}

Result<std::vector<OpenbNode>> parse_openb_nodes(std::string_view text, const std::string& path) {
  CsvRows rows(text, path, "fetch the file again");
  const std::size_t name = rows.column("sn"), cpu = rows.column("cpu_milli"), memory = rows.column("memory_mib"),
                    gpu = rows.column("gpu"), model = rows.column("model");
  std::vector<OpenbNode> out;
  std::unordered_set<std::string> seen;
  while (rows.next()) {
    OpenbNode node;
    node.name = rows.text(name);
    node.cpu_milli = rows.integer(cpu, 1, 60'000'000);
    node.memory_mib = rows.integer(memory, 1, kMaxAmount);
    node.gpus = rows.integer(gpu, 0, kMaxGpus);
    node.model = rows.text(model);
    if (node.name.empty()) rows.fail("sn", "is empty", "give every node a name");
    if (node.model.empty() != (node.gpus == 0))
      rows.fail("model", "contradicts the number of GPUs", "a model is named exactly when there are GPUs");
    if (!seen.insert(node.name).second) rows.fail("sn", "'" + base::shown(node.name) + "' occurs twice", "rename one");
    out.push_back(std::move(node));
  }
  if (!rows.error() && out.empty()) rows.fail("", "holds no nodes", "fetch the file again");
  if (rows.error()) return tl::unexpected(*rows.error());
  return out;
}

Result<std::vector<OpenbTask>> parse_openb_tasks(std::string_view text, const std::string& path, bool times) {
  CsvRows rows(text, path, "fetch the file again");
  const std::size_t name = rows.column("name"), cpu = rows.column("cpu_milli"), memory = rows.column("memory_mib"),
                    gpus = rows.column("num_gpu"), milli = rows.column("gpu_milli");
  // One published list has only the first five columns.
  const auto timed = [&](const char* column) { return times ? rows.column(column, false) : SIZE_MAX; };
  const std::size_t spec = rows.column("gpu_spec", false), qos = timed("qos"), phase = timed("pod_phase"),
                    created = timed("creation_time"), deleted = timed("deletion_time"),
                    scheduled = timed("scheduled_time");
  if (rows.has(created) != rows.has(deleted))
    rows.fail("", "has one of the columns creation_time and deletion_time only", "fetch the file again");
  std::vector<OpenbTask> out;
  std::unordered_set<std::string> seen;
  while (rows.next()) {
    OpenbTask task;
    task.name = rows.text(name);
    task.cpu_milli = rows.integer(cpu, 0, 60'000'000);
    task.memory_mib = rows.integer(memory, 0, kMaxAmount);
    task.gpus = rows.integer(gpus, 0, kMaxGpus);
    task.gpu_milli = rows.integer(milli, 0, 1'000'000);
    if (const char* problem = gpu_contradiction(task.gpus, task.gpu_milli))
      rows.fail("gpu_milli", problem, "1 to 999 goes with one GPU, 1000 with any number, 0 with none");
    if (rows.has(spec)) task.gpu_spec = rows.text(spec);
    task.gpu_milli = std::min<std::int64_t>(task.gpu_milli, 1000);
    if (task.gpus == 0) task.gpu_milli = 0, task.gpu_spec.clear();
    if (rows.has(qos)) task.qos = rows.text(qos);
    if (rows.has(phase)) task.phase = rows.text(phase);
    if (rows.has(created)) {
      task.created_s = task.scheduled_s = rows.integer(created, 0, kMaxSeconds);
      task.deleted_s = rows.integer(deleted, 0, kMaxSeconds);
      if (rows.has(scheduled) && !rows.empty(scheduled)) task.scheduled_s = rows.integer(scheduled, 0, kMaxSeconds);
      if (task.scheduled_s < task.created_s) rows.fail("scheduled_time", "is before creation_time", "correct the line");
      if (task.deleted_s < task.created_s) rows.fail("deletion_time", "is before creation_time", "correct the line");
    }
    if (task.name.empty()) rows.fail("name", "is empty", "give every task a name");
    if (!seen.insert(task.name).second)
      rows.fail("name", "'" + base::shown(task.name) + "' occurs twice", "rename one");
    out.push_back(std::move(task));
  }
  if (!rows.error() && out.empty()) rows.fail("", "holds no tasks", "fetch the file again");
  if (rows.error()) return tl::unexpected(*rows.error());
  return out;
}

GeneratedCluster openb_cluster(const std::vector<OpenbNode>& nodes, std::int64_t gpu_shares, std::uint64_t seed) {
  GeneratedCluster out;
  out.datacenters = {"dc1"};
  std::map<OpenbNode, std::uint32_t, ShapeLess> shapes;
  const std::uint64_t salt = base::mix64(seed ^ 0x6f70656e62ULL);
  for (const OpenbNode& node : nodes) {
    const auto [known, fresh] = shapes.emplace(node, static_cast<std::uint32_t>(out.shapes.size()));
    if (fresh) out.shapes.push_back(node_of(node, gpu_shares)), add_rates(out, node);
    out.names.push_back(node.name);
    out.nodes.push_back(
        {.id = base::generated_id(1, static_cast<std::uint32_t>(out.nodes.size()), salt), .shape = known->second});
  }
  return out;
}

JobStream openb_jobs(const std::vector<OpenbTask>& tasks, std::int64_t gpu_shares, std::int64_t count) {
  JobStream out;
  std::map<OpenbTask, std::uint32_t, ClassLess> classes;
  const std::size_t used = count == 0 ? tasks.size() : std::min(tasks.size(), static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < used; ++i) {
    const OpenbTask& task = tasks[i];
    const auto [known, fresh] = classes.emplace(task, static_cast<std::uint32_t>(out.templates.size()));
    if (fresh)
      out.templates.push_back(
          std::make_shared<model::Job>(job_of(task, "openb-c" + std::to_string(out.templates.size()), gpu_shares)));
    out.arrivals.push_back({.due_ns = task.created_s * base::kSecond,
                            .run_time_ns = std::max<std::int64_t>(0, task.deleted_s - task.scheduled_s) * base::kSecond,
                            .template_index = known->second,
                            .number = static_cast<std::uint32_t>(i),
                            .fails = task.phase == "Failed"});
  }
  out.single.assign(out.templates.size(), false);
  return out;
}

namespace {

/// Reads the summary's JSON. Keeps the first error; later reads then return harmless values.
class SummaryReader {
 public:
  SummaryReader(const json::Value& root, const std::string& path) : root_(root), path_(path) {}

  Result<OpenbSummary> read() {
    if (root_["format"].as_string() != "berth-openb-summary" || root_["version"].as_int() != 1)
      fail("/format", "is not berth-openb-summary version 1");
    OpenbSummary out;
    out.node_count = integer(root_, "node_count", "", 1, kMaxAmount);
    for (std::size_t i = 0; !error_ && i < root_["nodes"].size(); ++i)
      out.nodes.push_back(read_node(root_["nodes"][i], "/nodes/" + std::to_string(i)));
    for (const char* kind : {"cpu", "part", "whole"})
      out.run_times_s.push_back(quantiles(root_["run_time_s"][kind], std::string("/run_time_s/") + kind));
    out.gaps_ms = quantiles(root_["gap_ms"], "/gap_ms");
    for (std::size_t i = 0; !error_ && i < root_["tasks"].size(); ++i)
      out.tasks.push_back(read_task(root_["tasks"][i], "/tasks/" + std::to_string(i)));
    if (out.nodes.empty()) fail("/nodes", "is empty");
    if (out.tasks.empty()) fail("/tasks", "is empty");
    if (error_) return tl::unexpected(*error_);
    return out;
  }

 private:
  OpenbSummary::NodeShape read_node(const json::Value& from, const std::string& place) {
    OpenbSummary::NodeShape shape;
    shape.node.model = word(from, "model", place);
    shape.node.gpus = integer(from, "gpus", place, 0, kMaxGpus);
    shape.node.cpu_milli = integer(from, "cpu_milli", place, 1, 60'000'000);
    shape.node.memory_mib = integer(from, "memory_mib", place, 1, kMaxAmount);
    shape.count = integer(from, "count", place, 1, kMaxAmount);
    if (shape.node.model.empty() != (shape.node.gpus == 0)) fail(place + "/model", "contradicts the number of GPUs");
    return shape;
  }

  OpenbSummary::TaskClass read_task(const json::Value& from, const std::string& place) {
    OpenbSummary::TaskClass shape;
    shape.task.cpu_milli = integer(from, "cpu_milli", place, 0, 60'000'000);
    shape.task.memory_mib = integer(from, "memory_mib", place, 0, kMaxAmount);
    shape.task.gpus = integer(from, "gpus", place, 0, kMaxGpus);
    shape.task.gpu_milli = integer(from, "gpu_milli", place, 0, 1000);
    shape.task.gpu_spec = word(from, "gpu_spec", place);
    shape.task.qos = word(from, "qos", place);
    shape.count = integer(from, "count", place, 1, kMaxAmount);
    if (const char* problem = gpu_contradiction(shape.task.gpus, shape.task.gpu_milli))
      fail(place + "/gpu_milli", problem);
    shape.run_time = shape.task.gpus == 0 ? 0 : shape.task.gpu_milli < 1000 ? 1 : 2;
    return shape;
  }

  Quantity quantiles(const json::Value& from, const std::string& place) {
    std::vector<double> cumulative;
    std::vector<std::int64_t> values;
    for (const json::Value& point : from.items()) {
      if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_int64() ||
          point[1].as_int() < 0 || point[1].as_int() > kMaxSeconds * 1000 ||
          (!values.empty() && (!(point[0].as_double() > cumulative.back()) || point[1].as_int() < values.back()))) {
        fail(place, "does not rise from point to point");
        return 0;
      }
      cumulative.push_back(point[0].is_double() ? point[0].as_double() : static_cast<double>(point[0].as_int()));
      values.push_back(point[1].as_int());
    }
    if (values.size() < 2 || cumulative.front() != 0 || cumulative.back() != 1) {
      fail(place, "does not go from quantile 0 to quantile 1");
      return 0;
    }
    return Quantity::quantiles(std::move(cumulative), std::move(values));
  }

  std::int64_t integer(const json::Value& from, const char* key, const std::string& place, std::int64_t min,
                       std::int64_t max) {
    const json::Value& value = from[key];
    if (value.is_int64() && value.as_int() >= min && value.as_int() <= max) return value.as_int();
    fail(place + "/" + key, fmt::format("is not a whole number from {} to {}", min, max));
    return min;
  }

  std::string word(const json::Value& from, const char* key, const std::string& place) {
    if (!from[key].is_string()) fail(place + "/" + key, "is not a text");
    return from[key].as_string();
  }

  void fail(std::string place, std::string problem) {
    if (!error_)
      error_ = InputError{path_, std::move(place), std::move(problem), "compute it again: datasets/summarize_openb.py"};
  }

  const json::Value& root_;
  const std::string& path_;
  std::optional<InputError> error_;
};

}  // namespace

Result<OpenbSummary> parse_openb_summary(std::string_view text, const std::string& path) {
  auto parsed = io::parse_json(text, path);
  if (!parsed) return tl::unexpected(parsed.error());
  return SummaryReader(*parsed, path).read();
}

GeneratedCluster openb_like_cluster(const OpenbSummary& summary, std::int64_t nodes, std::int64_t racks,
                                    std::int64_t gpu_shares, std::uint64_t seed) {
  GeneratedCluster out;
  out.datacenters = {"dc1"};
  for (std::int64_t rack = 0; rack < racks; ++rack) out.racks.push_back("r" + std::to_string(rack));
  std::vector<std::int64_t> index;
  std::vector<double> weights;
  for (const OpenbSummary::NodeShape& shape : summary.nodes) {
    index.push_back(static_cast<std::int64_t>(index.size()));
    weights.push_back(static_cast<double>(shape.count));
    out.shapes.push_back(node_of(shape.node, gpu_shares));
    add_rates(out, shape.node);
  }
  const Quantity pick = Quantity::choices(index, weights);
  base::Random random(seed, "nodes");
  const std::uint64_t salt = base::mix64(seed);
  out.nodes.resize(static_cast<std::size_t>(nodes));
  for (std::size_t row = 0; row < out.nodes.size(); ++row) {
    out.nodes[row].id = base::generated_id(1, static_cast<std::uint32_t>(row), salt);
    out.nodes[row].shape = static_cast<std::uint32_t>(pick.draw(random));
    if (racks > 0) out.nodes[row].rack = static_cast<std::uint32_t>(row % static_cast<std::size_t>(racks));
  }
  return out;
}

JobStream openb_like_jobs(const OpenbSummary& summary, std::int64_t nodes, std::int64_t count, std::int64_t gpu_shares,
                          std::uint64_t seed) {
  JobStream out;
  std::vector<std::int64_t> index;
  std::vector<double> weights;
  for (const OpenbSummary::TaskClass& shape : summary.tasks) {
    const auto i = static_cast<std::int64_t>(index.size());
    index.push_back(i);
    weights.push_back(static_cast<double>(shape.count));
    out.templates.push_back(
        std::make_shared<model::Job>(job_of(shape.task, "openb-c" + std::to_string(i), gpu_shares)));
  }
  out.single.assign(out.templates.size(), false);
  const Quantity pick = Quantity::choices(index, weights);
  base::Random random(seed, "jobs");
  const double scale = 1e6 * static_cast<double>(summary.node_count) / static_cast<double>(nodes);
  double due_ns = 0;
  out.arrivals.resize(static_cast<std::size_t>(count));
  for (std::size_t number = 0; number < out.arrivals.size(); ++number) {
    JobArrival& arrival = out.arrivals[number];
    arrival.number = static_cast<std::uint32_t>(number);
    arrival.template_index = static_cast<std::uint32_t>(pick.draw(random));
    arrival.run_time_ns =
        summary.run_times_s[summary.tasks[arrival.template_index].run_time].draw(random) * base::kSecond;
    due_ns = std::min(9e18, due_ns + static_cast<double>(summary.gaps_ms.draw(random)) * scale);
    arrival.due_ns = static_cast<std::int64_t>(due_ns);
  }
  return out;
}

}  // namespace berth::sim
