#include "run/others_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "model/job.h"
#include "run/machine.h"
#include "server/lane.h"
#include "server/server.h"

namespace berth::run {
namespace {

constexpr std::int64_t kMicro = 1000, kMilli = 1'000'000, kJobs = 40;

/// Nodes of 14,000 MHz and 32,000 MiB in 50 racks, and the server that evaluates and commits.
class OthersCluster {
 public:
  explicit OthersCluster(std::uint64_t nodes) {
    clock_.set(kMilli);
    model::ClusterState state;
    state.index = 10;
    state.scheduler_config.emplace().preemption_config.service_scheduler_enabled = true;
    server_.load(state);
    model::Node shape;
    shape.status = "ready";
    shape.scheduling_eligibility = "eligible";
    shape.datacenter = "dc1", shape.node_pool = "default";
    shape.attributes = {{"kernel.name", "linux"}, {"driver.exec", "1"}, {"nomad.version", "2.0.6"}};
    model::NodeResources& r = shape.node_resources.emplace();
    r.memory.memory_mb = 32'000, r.disk.disk_mb = 200'000;
    r.processors.emplace().topology.emplace().override_total_compute = 14'000;
    model::NetworkResource& network = r.networks.emplace_back();
    network.mode = "host", network.device = "eth0";
    const auto spec = tables::StateStore::make_spec(shape, true);
    for (std::uint64_t i = 0; i < nodes; ++i) {
      const std::string name = "node-" + std::to_string(i), rack = "r" + std::to_string(i % 50);
      store_.add_variant(spec, {.id = id(1),
                                .name = name,
                                .datacenter = {},
                                .attributes = {},
                                .meta = {{"rack", rack}},
                                .computed_class = {}});
    }
    store_.sort_nodes();
  }

  std::shared_ptr<model::Job> job(const std::string& name, const char* type, std::int64_t priority, std::int64_t count,
                                  std::int64_t cpu, std::int64_t memory) {
    auto out = std::make_shared<model::Job>();
    out->id = out->name = name;
    out->namespace_ = "default";
    out->type = type;
    out->priority = priority;
    out->datacenters = {"dc1"};
    out->node_pool = "default";
    out->create_index = out->modify_index = out->job_modify_index = store_.index() + 1;
    model::TaskGroup& group = out->task_groups.emplace_back();
    group.name = "web";
    group.count = count;
    group.ephemeral_disk.emplace().size_mb = 10;
    model::Task& task = group.tasks.emplace_back();
    task.name = "web";
    task.driver = "exec";
    task.resources.emplace().cpu = cpu;
    task.resources->memory_mb = memory;
    return out;
  }
  tables::VersionRow store(const std::shared_ptr<const model::Job>& job) {
    store_.set_index(store_.index() + 1);
    return store_.upsert_job(job, true);
  }
  /// Ten running allocations of 1,400 MHz and 3,000 MiB on every node, of six jobs with priorities 10 to 60.
  void fill() {
    std::vector<tables::VersionRow> jobs;
    for (std::int64_t p = 10; p <= 60; p += 10)
      jobs.push_back(store(job("p" + std::to_string(p), "service", p, 0, 1400, 3000)));
    std::mt19937_64 random(1);
    tables::PlainAlloc alloc;
    alloc.client = tables::Client::running;
    for (tables::NodeRow node = 0; node < store_.current().nodes.size(); ++node)
      for (int i = 0; i < 10; ++i) {
        alloc.id = id(2);
        alloc.node = node;
        alloc.job = jobs[random() % jobs.size()];
        alloc.name_index = numbers_[2];
        store_.insert_plain(alloc, 11);
      }
  }
  /// The time of one evaluation of the job, including the commit of its plan.
  std::int64_t evaluate(const model::Job& job, std::string_view trigger) {
    const bool known =
        server_.evaluate({.id = id(3), .job = store_.job_key(job.namespace_, job.id), .trigger = trigger});
    BERTH_ASSERT(known);
    const auto start = std::chrono::steady_clock::now();
    server_.step();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  }
  void take_down_one() { store_.set_node_state(0, tables::NodeStatus::down, true, false, store_.index() + 1); }

  [[nodiscard]] std::uint32_t placed() { return planned() ? server_.lane().applied.committed : 0; }
  [[nodiscard]] std::uint32_t stopped() { return planned() ? server_.lane().applied.stopped : 0; }
  [[nodiscard]] bool planned() { return server_.lane().plans > 0; }

 private:
  base::Uuid id(std::uint32_t kind) { return {(++numbers_[kind]) * 0x9e3779b97f4a7c15ULL | 1, kind}; }

  static server::Config config() {
    server::Config out;
    out.broker.evals = out.broker.jobs = 1024;
    out.evaluate_evicted = false;  // each evaluation is timed alone
    return out;
  }

  server::ManualClock clock_;
  server::Server server_{config(), clock_};
  tables::StateStore& store_ = server_.store();
  std::uint32_t numbers_[4] = {};
};

void preemption(std::uint64_t nodes, std::int64_t cpu, std::int64_t nomad_ns, std::uint64_t nomad_victims,
                std::vector<OtherCase>& out) {
  OthersCluster cluster(nodes);
  cluster.fill();
  std::vector<std::int64_t> times;
  std::uint64_t placed = 0, victims = 0;
  for (std::int64_t i = 0; i < kJobs; ++i) {
    const auto job = cluster.job("urgent" + std::to_string(i), "service", 100, 1, cpu, 2 * cpu);
    cluster.store(job);
    times.push_back(cluster.evaluate(*job, "job-register"));
    placed += cluster.placed(), victims += cluster.stopped();
  }
  std::sort(times.begin(), times.end());
  out.push_back({fmt::format("preemption, {} nodes, ask {} MHz, p50 of {}", nodes, cpu, kJobs), nomad_ns,
                 times[times.size() / 2],
                 fmt::format("{} placed, {} victims (Nomad {}), longest {:.1f} us", placed, victims, nomad_victims,
                             static_cast<double>(times.back()) / static_cast<double>(kMicro)),
                 placed == static_cast<std::uint64_t>(kJobs)});
}

void system_job(std::uint64_t nodes, std::int64_t nomad_ns, std::int64_t nomad_idle_ns, std::vector<OtherCase>& out) {
  OthersCluster cluster(nodes);
  const auto job = cluster.job("system", "system", 50, 1, 100, 100);
  cluster.store(job);
  const std::int64_t first = cluster.evaluate(*job, "job-register");
  out.push_back({fmt::format("system job, {} nodes, placed", nodes), nomad_ns, first,
                 fmt::format("{} placed", cluster.placed()), cluster.placed() == nodes});
  const std::int64_t idle = cluster.evaluate(*job, "job-register");
  out.push_back({fmt::format("system job, {} nodes, no change", nodes), nomad_idle_ns, idle,
                 cluster.planned() ? "a plan" : "no plan", !cluster.planned()});
}

struct ServiceTimes {
  std::int64_t place, idle, down, replace;
};

void service_job(std::int64_t count, const ServiceTimes& nomad, std::vector<OtherCase>& out) {
  OthersCluster cluster(1000);
  const auto job = cluster.job("service", "service", 50, count, 10, 10);
  cluster.store(job);
  const auto name = [&](const char* what) { return fmt::format("service job of {}, {}", count, what); };
  const auto all = static_cast<std::uint64_t>(count);
  const std::int64_t first = cluster.evaluate(*job, "job-register");
  out.push_back(
      {name("placed"), nomad.place, first, fmt::format("{} placed", cluster.placed()), cluster.placed() == all});
  cluster.evaluate(*job, "job-register");  // one-time work of the first evaluation after a commit
  const std::int64_t idle = cluster.evaluate(*job, "job-register");
  out.push_back({name("no change"), nomad.idle, idle, cluster.planned() ? "a plan" : "no plan", !cluster.planned()});
  cluster.take_down_one();
  const std::int64_t down = cluster.evaluate(*job, "node-update");
  out.push_back({name("one node down"), nomad.down, down,
                 fmt::format("{} lost, {} placed", cluster.stopped(), cluster.placed()),
                 cluster.stopped() == cluster.placed() && cluster.planned()});
  auto changed = std::make_shared<model::Job>(*job);
  changed->version = 1;
  changed->modify_index = changed->job_modify_index = job->job_modify_index + 1000;
  changed->task_groups[0].tasks[0].env = json::Value::object();
  changed->task_groups[0].tasks[0].env.set("V", "2");
  cluster.store(changed);
  const std::int64_t replace = cluster.evaluate(*changed, "job-register");
  out.push_back({name("all replaced"), nomad.replace, replace, fmt::format("{} placed", cluster.placed()),
                 cluster.placed() == all && cluster.stopped() == all});
}

}  // namespace

std::vector<OtherCase> run_others(bool smoke) {
  std::vector<OtherCase> out;
  // Nomad's times: datasets/nomad-others.txt, elapsed, garbage collection included.
  preemption(1000, 1300, 21'391'579, 40, out);
  preemption(1000, 4000, 23'847'434, 121, out);
  preemption(1000, 9000, 22'115'131, 281, out);
  if (!smoke) {
    preemption(10'000, 1300, 252'076'331, 40, out);
    preemption(10'000, 4000, 285'397'667, 120, out);
    preemption(10'000, 9000, 277'326'158, 280, out);
  }
  system_job(1000, 40'199'981, 3'155'957, out);
  if (!smoke) system_job(10'000, 1'890'917'733, 56'352'738, out);
  service_job(1000, {91'317'556, 1'325'073, 1'853'514, 200'889'785}, out);
  if (smoke) return out;
  service_job(10'000, {2'102'352'102, 15'592'585, 16'032'706, 4'792'754'775}, out);
  service_job(50'000, {36'006'107'423, 189'674'720, 187'167'144, 82'208'959'501}, out);
  return out;
}

std::string to_table(const std::vector<OtherCase>& cases) {
  std::string out = fmt::format("{:<48} {:>12} {:>12} {:>8}  {}\n", "case", "Nomad", "berth", "ratio", "decided");
  for (const OtherCase& c : cases)
    out += fmt::format("{:<48} {:>9.3f} ms {:>9.3f} ms {:>8.0f}  {}{}\n", c.name, static_cast<double>(c.nomad_ns) / 1e6,
                       static_cast<double>(c.berth_ns) / 1e6, c.ratio(), c.answer, c.as_nomad ? "" : "  NOT AS NOMAD");
  return out +
         "Nomad's times were recorded on another machine, in process and without replication; ratios compare "
         "programs.\n";
}

json::Value to_json(const std::vector<OtherCase>& cases) {
  json::Value out = json::Value::object();
  out.set("format", "berth-others");
  out.set("version", 1);
  out.set("build", build_json());
  out.set("machine", machine_json());
  json::Value& list = out.set("cases", json::Value::array());
  for (const OtherCase& c : cases) {
    json::Value entry = json::Value::object();
    entry.set("name", c.name), entry.set("nomad_ns", c.nomad_ns), entry.set("berth_ns", c.berth_ns);
    entry.set("ratio", c.ratio()), entry.set("answer", c.answer), entry.set("as_nomad", c.as_nomad);
    list.push(std::move(entry));
  }
  return out;
}

}  // namespace berth::run
