// Metrics for monitoring (R-STORE-400 to 460): JSON, or the text format of Prometheus. Gauges are read from the state
// at each request and sent in pieces for large clusters; counters and samples come from telemetry.h.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/time.h"
#include "base/wrap.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "model/job.h"
#include "tables/export.h"

namespace berth::http {

namespace {

constexpr std::size_t kMetricsPiece = 32 << 10;
constexpr std::size_t kSortedRows = 4096;  // larger families keep the order of their table
constexpr std::int64_t kInterval = std::chrono::seconds(Telemetry::kInterval).count();

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::abs(value) < 9e15 && value == std::floor(value)) return std::to_string(static_cast<std::int64_t>(value));
  return json::double_text(value);
}

const std::string& host_name() {
  static const std::string name = [] {
    char text[256] = {};
    return gethostname(text, sizeof text - 1) == 0 && text[0] != 0 ? std::string(text) : std::string("localhost");
  }();
  return name;
}

Labels with_host(Labels labels) {
  labels.emplace_back("host", host_name());
  std::sort(labels.begin(), labels.end());
  return labels;
}

/// A gauge's name and its values: `write` calls `to` for each value of a row.
struct Family {
  using Value = std::function<void(double value, Labels labels)>;
  std::string name;
  std::size_t rows = 1;
  std::function<void(std::size_t row, const Value& to)> write;
};

// ---------------------------------------------------------------- the two formats

std::string labels_json(const Labels& labels) {
  std::string out = "{";
  for (const auto& [name, value] : labels) {
    if (out.size() > 1) out += ',';
    json::append_quoted(out, name);
    out += ':';
    json::append_quoted(out, value);
  }
  return out + "}";
}

std::string gauge_json(const std::string& name, double value, const Labels& labels) {
  std::string out = "{\"Labels\":" + labels_json(labels) + ",\"Name\":";
  json::append_quoted(out, name);
  return out + ",\"Value\":" + number(value) + "}";
}

void append_rows_json(const std::vector<Telemetry::Row>& rows, std::string& out) {
  bool first = true;
  for (const Telemetry::Row& row : rows) {
    const Telemetry::Sums& sums = row.interval;
    if (sums.count == 0) continue;  // no event in the interval (R-STORE-403)
    out += first ? "{\"Name\":" : ",{\"Name\":";
    first = false;
    json::append_quoted(out, row.name);
    out +=
        ",\"Count\":" + std::to_string(sums.count) + ",\"Rate\":" + number(sums.sum / static_cast<double>(kInterval));
    out += ",\"Sum\":" + number(sums.sum) + ",\"Min\":" + number(sums.min) + ",\"Max\":" + number(sums.max);
    out += ",\"Mean\":" + number(sums.mean()) + ",\"Stddev\":" + number(sums.deviation());
    out += ",\"Labels\":" + labels_json(with_host(row.labels)) + "}";
  }
}

std::string prometheus_name(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':')) c = '_';
  return out;
}

std::string prometheus_row(const std::string& name, const Labels& labels, double value) {
  std::string out = name;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out += i == 0 ? '{' : ',';
    out += labels[i].first + "=\"";
    for (const char c : labels[i].second) {
      if (c == '\\' || c == '"') out += '\\';
      if (c == '\n')
        out += "\\n";
      else
        out += c;
    }
    out += '"';
  }
  return out + (labels.empty() ? " " : "} ") + number(value) + "\n";
}

std::string prometheus_head(const std::string& name, const char* type) {
  return "# HELP " + name + " " + name + "\n# TYPE " + name + " " + type + "\n";
}

void append_rows_prometheus(const std::vector<Telemetry::Row>& rows, bool summaries, std::string& out) {
  static constexpr std::array kShares = {"0.5", "0.9", "0.99"};
  std::string last;
  for (const Telemetry::Row& row : rows) {
    const std::string name = prometheus_name(row.name);
    if (name != last) out += prometheus_head(name, summaries ? "summary" : "counter");
    last = name;
    const Labels labels = with_host(row.labels);
    if (!summaries) {
      out += prometheus_row(name, labels, row.total);
      continue;
    }
    for (std::size_t i = 0; i < kShares.size(); ++i) {
      Labels with_quantile = labels;
      with_quantile.emplace_back("quantile", kShares[i]);
      std::sort(with_quantile.begin(), with_quantile.end());
      out += prometheus_row(name, with_quantile, row.quantiles.empty() ? std::nan("") : row.quantiles[i]);
    }
    out += prometheus_row(name + "_sum", labels, row.total);
    out += prometheus_row(name + "_count", labels, static_cast<double>(row.total_count));
  }
}

// ---------------------------------------------------------------- of this process

/// Numbers of this process from the system, in bytes and seconds.
struct ProcessNumbers {
  double resident = 0, size = 0, cpu_seconds = 0, started = 0, open_files = 0, most_files = 0;
};

ProcessNumbers process_numbers() {
  ProcessNumbers out;
  if (std::ifstream file("/proc/self/statm"); file) {
    double size = 0, resident = 0;
    file >> size >> resident;
    const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
    out.size = size * page, out.resident = resident * page;
  }
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (std::ifstream file("/proc/self/stat"); file) {
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));  // the name may contain spaces
    std::string skipped;
    double user = 0, system = 0, start = 0;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    fields >> user >> system;
    for (int i = 0; i < 6; ++i) fields >> skipped;
    fields >> start;
    out.cpu_seconds = (user + system) / ticks, out.started = start / ticks;
  }
  if (std::ifstream file("/proc/stat"); file)
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("btime ")) out.started += std::atof(line.c_str() + 6);
  out.most_files = static_cast<double>(sysconf(_SC_OPEN_MAX));
  return out;
}

void append_process_families(std::string& out) {  // R-STORE-405
  const ProcessNumbers of = process_numbers();
  const auto add = [&](const char* name, const char* type, double value) {
    out += prometheus_head(name, type) + name + " " + number(value) + "\n";
  };
  add("process_cpu_seconds_total", "counter", of.cpu_seconds);
  add("process_max_fds", "gauge", of.most_files);
  add("process_resident_memory_bytes", "gauge", of.resident);
  add("process_start_time_seconds", "gauge", of.started);
  add("process_virtual_memory_bytes", "gauge", of.size);
}

// ---------------------------------------------------------------- gauges of nodes

Labels node_labels(const tables::Snapshot& state, tables::NodeRow row) {
  const auto column = [&](tables::ColumnId id) {
    const std::string* value = state.value_text(id, row);
    return value ? *value : std::string();
  };
  const std::string node_class = column(tables::kClassColumn);
  return {{"datacenter", column(tables::kDatacenterColumn)},
          {"node_class", node_class.empty() ? "none" : node_class},
          {"node_id", base::to_text(state.nodes.id(row))},
          {"node_pool", column(tables::kPoolColumn)},
          {"node_scheduling_eligibility", state.nodes.state[row] & tables::kEligible ? "eligible" : "ineligible"},
          {"node_status", tables::to_text(state.nodes.status(row))}};
}

/// Sums over the allocations on a node.
struct NodeCounts {
  std::int64_t max_memory_mb = 0;
  std::array<std::int64_t, 5> allocations{};  // blocked, migrating, pending, running, terminal
  std::array<std::int64_t, 3> tasks{};        // pending, running, dead
};

NodeCounts counts_of(Simulation& simulation, tables::NodeRow node) {
  const tables::Snapshot& state = simulation.state();
  const tables::AllocTable& allocs = state.allocs;
  NodeCounts out;
  const auto tasks_of = [&](tables::AllocRow row) -> std::int64_t {
    const auto& resources = allocs.shape_of(row).resources;
    return resources ? static_cast<std::int64_t>(resources->tasks.size()) : 1;
  };
  for (tables::AllocRow row = state.nodes.use[node].ended_head; row != tables::kNoRow; row = allocs.next_on_node[row])
    ++out.allocations[4], out.tasks[2] += tasks_of(row);
  for (tables::AllocRow row = state.nodes.use[node].alloc_head; row != tables::kNoRow; row = allocs.next_on_node[row]) {
    if (const auto& resources = allocs.shape_of(row).resources)
      for (const auto& [name, task] : resources->tasks)
        base::wrap_add_to(out.max_memory_mb,
                          task.memory.memory_max_mb > 0 ? task.memory.memory_max_mb : task.memory.memory_mb);
    else
      base::wrap_add_to(out.max_memory_mb, allocs.shape_of(row).memory_mb);
    if (simulation.cluster().clients().awaits_upstream(row))
      ++out.allocations[0];
    else if (allocs.client[row] == tables::Client::pending)
      ++out.allocations[2];
    else if (allocs.client[row] == tables::Client::running || allocs.client[row] == tables::Client::unknown)
      ++out.allocations[3];
    else
      ++out.allocations[4];
    out.tasks[allocs.client[row] == tables::Client::pending   ? 0
              : allocs.client[row] == tables::Client::running ? 1
                                                              : 2] += tasks_of(row);
  }
  return out;
}

void add_node_family(Simulation& simulation, std::vector<Family>& out, const std::string& name,
                     std::function<double(tables::NodeRow)> of) {
  out.push_back({"nomad.client." + name, simulation.state().nodes.size(),
                 [&simulation, of = std::move(of)](std::size_t at, const Family::Value& to) {
                   const auto row = static_cast<tables::NodeRow>(at);
                   if (row < simulation.state().nodes.size() && simulation.state().nodes.exists(row))
                     to(of(row), node_labels(simulation.state(), row));
                 }});
}

void add_node_families(Simulation& simulation, std::vector<Family>& out) {  // R-STORE-410 to 413, 417
  const auto use = [&simulation](tables::NodeRow row) -> const tables::NodeUse& {
    return simulation.state().nodes.use[row];
  };
  const auto has = [&simulation](tables::NodeRow row) { return simulation.state().nodes.capacity(row); };
  const auto add = [&](const std::string& name, auto of) {
    add_node_family(simulation, out, name, [of](tables::NodeRow row) { return static_cast<double>(of(row)); });
  };
  add("allocated.cpu", [use](tables::NodeRow row) { return use(row).cpu_mhz; });
  add("allocated.disk", [use](tables::NodeRow row) { return use(row).disk_mb; });
  add("allocated.memory", [use](tables::NodeRow row) { return use(row).memory_mb; });
  add("allocated.max_memory", [&simulation](tables::NodeRow row) { return counts_of(simulation, row).max_memory_mb; });
  add("unallocated.cpu", [use, has](tables::NodeRow row) { return has(row).cpu_mhz - use(row).cpu_mhz; });
  add("unallocated.disk", [use, has](tables::NodeRow row) { return has(row).disk_mb - use(row).disk_mb; });
  add("unallocated.memory", [use, has](tables::NodeRow row) { return has(row).memory_mb - use(row).memory_mb; });
  static constexpr std::array kAllocations = {"blocked", "migrating", "pending", "running", "terminal"};
  for (std::size_t i = 0; i < kAllocations.size(); ++i)
    add(std::string("allocations.") + kAllocations[i],
        [&simulation, i](tables::NodeRow row) { return counts_of(simulation, row).allocations[i]; });
  static constexpr std::array kTasks = {"pending", "running", "dead"};
  for (std::size_t i = 0; i < kTasks.size(); ++i)
    add(std::string("tasks.") + kTasks[i],
        [&simulation, i](tables::NodeRow row) { return counts_of(simulation, row).tasks[i]; });
  add("uptime", [&simulation](tables::NodeRow row) {
    const std::int64_t since = simulation.log().status_updated_at(row);
    return std::max<std::int64_t>(0, simulation.now() / base::kSecond - since);
  });
}

/// Gauges of an agent's own node, if it has a client (R-STORE-414 to 416, 418, 419), computed from the tasks' requests.
void add_local_families(Simulation& simulation, std::vector<Family>& out) {
  const tables::NodeRow node = simulation.store().find_node(simulation.agent().local_node);
  if (node == tables::kNoRow || !simulation.state().nodes.exists(node)) return;
  const tables::Snapshot& state = simulation.state();
  const tables::NodeUse& use = state.nodes.use[node];
  const tables::NodeCapacity capacity = state.nodes.capacity(node);
  const Labels labels = node_labels(state, node);
  const auto add = [&](const std::string& name, double value, const char* label, const std::string& of) {
    Labels all = labels;
    if (label) all.emplace_back(label, of);
    out.push_back(
        {"nomad.client.host." + name, 1, [value, all](std::size_t, const Family::Value& to) { to(value, all); }});
  };
  const auto cpu = static_cast<double>(use.cpu_mhz),
             has_cpu = static_cast<double>(std::max<std::int64_t>(1, capacity.cpu_mhz));
  const double percent = std::min(100.0, 100 * cpu / has_cpu);
  add("cpu.total", percent, "cpu", "cpu0"), add("cpu.total_percent", percent, "cpu", "cpu0");
  add("cpu.user", percent, "cpu", "cpu0"), add("cpu.system", 0, "cpu", "cpu0");
  add("cpu.idle", 100 - percent, "cpu", "cpu0"), add("cpu.total_ticks", cpu, "cpu", "cpu0");
  constexpr double kBytesPerMib = 1 << 20;
  const double memory = static_cast<double>(capacity.memory_mb) * kBytesPerMib,
               used = static_cast<double>(use.memory_mb) * kBytesPerMib;
  add("memory.total", memory, nullptr, ""), add("memory.used", used, nullptr, "");
  add("memory.available", memory - used, nullptr, ""), add("memory.free", memory - used, nullptr, "");
  const double disk = static_cast<double>(capacity.disk_mb) * kBytesPerMib,
               disk_used = static_cast<double>(use.disk_mb) * kBytesPerMib;
  const std::string device = "/dev/vda";
  add("disk.size", disk, "disk", device), add("disk.used", disk_used, "disk", device);
  add("disk.available", disk - disk_used, "disk", device), add("disk.inodes_percent", 0, "disk", device);
  add("disk.used_percent", disk > 0 ? 100 * disk_used / disk : 0, "disk", device);
  struct Task {
    Labels labels;
    double mhz = 0, mb = 0;
  };
  auto tasks = std::make_shared<std::vector<Task>>();
  for (tables::AllocRow row = use.alloc_head; row != tables::kNoRow; row = state.allocs.next_on_node[row]) {
    const auto& resources = state.allocs.shape_of(row).resources;
    if (state.allocs.client[row] != tables::Client::running || !resources) continue;
    const tables::JobKey& key = state.jobs.keys[state.allocs.job_key[row]];
    for (const auto& [name, of] : resources->tasks)
      tasks->push_back({{{"alloc_id", base::to_text(state.allocs.id[row])},
                         {"job", std::string(state.text(key.job_id))},
                         {"namespace", std::string(state.text(key.job_namespace))},
                         {"task", name},
                         {"task_group", std::string(state.text(state.allocs.group[row]))}},
                        static_cast<double>(of.cpu.cpu_shares),
                        static_cast<double>(of.memory.memory_mb)});
  }
  const auto add_task = [&](const char* name, double (*of)(const Task&)) {
    out.push_back(
        {std::string("nomad.client.allocs.") + name, tasks->size(),
         [tasks, of](std::size_t at, const Family::Value& to) { to(of((*tasks)[at]), (*tasks)[at].labels); }});
  };
  add_task("cpu.allocated", [](const Task& task) { return task.mhz; });
  add_task("cpu.total_ticks", [](const Task& task) { return task.mhz; });
  for (const char* zero : {"cpu.system", "cpu.throttled_periods", "cpu.throttled_time", "memory.swap"})
    add_task(zero, [](const Task&) { return 0.0; });
  for (const char* full : {"cpu.total_percent", "cpu.user"}) add_task(full, [](const Task&) { return 100.0; });
  for (const char* bytes : {"memory.allocated", "memory.rss"})
    add_task(bytes, [](const Task& task) { return task.mb * kBytesPerMib; });
}

// ---------------------------------------------------------------- gauges of the server

void add_single(std::vector<Family>& out, std::string name, double value, Labels labels = {}) {
  out.push_back({std::move(name), 1,
                 [value, labels = std::move(labels)](std::size_t, const Family::Value& to) { to(value, labels); }});
}

void add_server_families(Simulation& simulation, std::vector<Family>& out) {  // R-STORE-420 to 436
  server::Server& server = simulation.server();
  const auto tracked = server.tracker().stats();
  const auto add = [&](const std::string& name, auto value) {
    add_single(out, "nomad." + name, static_cast<double>(value));
  };
  std::int64_t cpu = 0, memory = 0;
  const tables::Snapshot& state = simulation.state();
  for (const auto& [key, booked] : server.tracker().booked_by_job()) {
    cpu += booked.cpu_mhz, memory += booked.memory_mb;
    const tables::JobKey& job = state.jobs.keys[key];
    const Labels labels{{"job", std::string(state.text(job.job_id))},
                        {"namespace", std::string(state.text(job.job_namespace))}};
    add_single(out, "nomad.nomad.blocked_evals.job.cpu", static_cast<double>(booked.cpu_mhz), labels);
    add_single(out, "nomad.nomad.blocked_evals.job.memory", static_cast<double>(booked.memory_mb), labels);
  }
  add("nomad.blocked_evals.cpu", cpu);
  add("nomad.blocked_evals.memory", memory);
  add("nomad.blocked_evals.total_blocked", tracked.blocked);
  add("nomad.blocked_evals.total_escaped", tracked.escaped);
  add("nomad.blocked_evals.total_quota_limit", tracked.quota_limited);
  const broker::Stats queued = server.broker().stats();
  add("nomad.broker.total_cancelable", queued.cancelable);
  add("nomad.broker.total_pending", queued.pending);
  add("nomad.broker.total_ready", queued.ready);
  add("nomad.broker.total_unacked", queued.unacked);
  add("nomad.broker.total_waiting", queued.waiting);
  for (std::size_t queue = 0; queue < queued.queues.size(); ++queue) {
    if (static_cast<broker::Queue>(queue) == broker::Queue::failed) continue;
    const std::string name = "nomad.broker." + std::string(broker::queue_name(static_cast<broker::Queue>(queue)));
    add(name + ".ready", queued.queues[queue].ready);
    add(name + ".unacked", queued.queues[queue].unacked);
  }
  add("nomad.heartbeat.active", simulation.cluster().watchers().nodes().heartbeats().size());
  add("nomad.plan.queue_depth", 0);
  add("nomad.autopilot.healthy", 1), add("nomad.autopilot.failure_tolerance", 0);
  add("agent.http.connections", simulation.connections());
  const std::uint64_t index = simulation.log().next_index() - 1;
  for (const char* name : {"raft.appliedIndex", "raft.lastIndex", "state.snapshotIndex"}) add(name, index);
  for (const char* name : {"raft.commitNumLogs", "raft.leader.dispatchNumLogs", "raft.leader.oldestLogAge"})
    add(name, 0);
  const ProcessNumbers process = process_numbers();
  add("runtime.alloc_bytes", process.resident), add("runtime.sys_bytes", process.size);
}

void add_job_families(Simulation& simulation, std::vector<Family>& out) {
  std::array<std::int64_t, 3> counts{};
  static constexpr const char* kStatuses[] = {"dead", "pending", "running"};
  const tables::Snapshot& state = simulation.state();
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key)
    if (const auto& job = state.jobs.objects[key])
      for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += job->status == kStatuses[i];
  for (std::size_t i = 0; i < counts.size(); ++i)
    add_single(out, std::string("nomad.nomad.job_status.") + kStatuses[i], static_cast<double>(counts[i]));
  for (std::size_t bin = 0; bin < fsm::kBins; ++bin) {
    std::string name = fsm::kBinNames[bin];
    name[0] = static_cast<char>(name[0] - 'A' + 'a');
    out.push_back({"nomad.nomad.job_summary." + name, state.jobs.keys.size(),
                   [&simulation, bin](std::size_t row, const Family::Value& to) {
                     const fsm::JobRecord* record = simulation.log().record(static_cast<tables::JobKeyRow>(row));
                     if (!record || !record->current || !record->summary) return;
                     const model::Job& job = *record->current;
                     for (const auto& [group, of] : record->summary->groups) {
                       Labels labels{{"job", job.id}, {"namespace", job.namespace_}, {"task_group", group}};
                       if (!job.parent_id.empty()) {  // R-STORE-430
                         labels.emplace_back("parent_id", job.parent_id);
                         const auto add_child = [&](const char* label, std::string_view mark) {
                           if (const std::size_t at = job.id.find(mark); at != std::string::npos)
                             labels.emplace_back(label, job.id.substr(at + mark.size()));
                         };
                         add_child("periodic_id", "/periodic-"), add_child("dispatch_id", "/dispatch-");
                       }
                       to(static_cast<double>(of.counts[bin]), std::move(labels));
                     }
                   }});
  }
}

// ---------------------------------------------------------------- the answer, piece by piece

class MetricsWriter {
 public:
  MetricsWriter(bool prometheus, std::vector<Family> families, Telemetry::Report report, std::int64_t end_ns)
      : prometheus_(prometheus), families_(std::move(families)), report_(std::move(report)), end_ns_(end_ns) {
    std::stable_sort(families_.begin(), families_.end(),
                     [](const Family& a, const Family& b) { return a.name < b.name; });
  }

  /// Writes the next piece; false: it was the last.
  bool write(std::string& out) {
    if (!std::exchange(begun_, true)) begin(out);
    while (family_ < families_.size()) {
      if (out.size() >= kMetricsPiece) return true;
      if (!write_rows(out)) return true;
    }
    end(out);
    return false;
  }

 private:
  void begin(std::string& out) const {
    if (prometheus_) return;
    out += "{\"Counters\":[";
    append_rows_json(report_.counters, out);
    out += "],\"Gauges\":[";
  }
  void end(std::string& out) const {
    if (prometheus_) {
      append_rows_prometheus(report_.counters, false, out);
      append_rows_prometheus(report_.samples, true, out);
      append_process_families(out);
      return;
    }
    out += "],\"Points\":[],\"Samples\":[";
    append_rows_json(report_.samples, out);
    constexpr std::int64_t kNs = kInterval * base::kSecond;
    std::string at = base::to_rfc3339(base::Time{end_ns_ - end_ns_ % kNs});
    at.replace(at.find('T'), 1, " "), at.replace(at.find('Z'), 1, " +0000 UTC");
    out += "],\"Timestamp\":\"" + at + "\"}";
  }

  /// Writes rows of the family, only a part if there are many; false: more rows are left.
  bool write_rows(std::string& out) {
    const Family& family = families_[family_];
    const std::string name = prometheus_ ? prometheus_name(family.name) : family.name;
    const auto text_of = [&](double value, const Labels& labels) {
      return prometheus_ ? prometheus_row(name, labels, value) : gauge_json(family.name, value, labels);
    };
    const auto append = [&](const std::string& text) {
      if (prometheus_ && std::exchange(headed_, name) != name) out += prometheus_head(name, "gauge");
      if (!prometheus_ && std::exchange(any_, true)) out += ',';
      out += text;
    };
    if (family.rows <= kSortedRows) {
      std::vector<std::pair<std::string, std::string>> rows;
      for (std::size_t row = 0; row < family.rows; ++row)
        family.write(row, [&](double value, Labels labels) {
          labels = with_host(std::move(labels));
          rows.emplace_back(labels_text(labels), text_of(value, labels));
        });
      std::sort(rows.begin(), rows.end());
      for (const auto& [key, text] : rows) append(text);
      return next_family();
    }
    for (; row_ < family.rows && out.size() < kMetricsPiece; ++row_)
      family.write(row_, [&](double value, Labels labels) { append(text_of(value, with_host(std::move(labels)))); });
    return row_ < family.rows ? false : next_family();
  }
  bool next_family() {
    ++family_, row_ = 0;
    return true;
  }

  const bool prometheus_;
  std::vector<Family> families_;
  const Telemetry::Report report_;
  const std::int64_t end_ns_;
  std::size_t family_ = 0, row_ = 0;
  bool begun_ = false, any_ = false;
  std::string headed_;  // name of the last written head
};

void metrics(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string* format = request.find("format");
  const bool prometheus = format && *format == "prometheus";
  std::vector<Family> families;
  add_node_families(simulation, families);
  add_local_families(simulation, families);
  add_server_families(simulation, families);
  add_job_families(simulation, families);
  Telemetry::Report report = simulation.telemetry().report();
  const std::int64_t end_ns = simulation.now() - report.age_seconds * base::kSecond;
  const auto writer = std::make_shared<MetricsWriter>(prometheus, std::move(families), std::move(report), end_ns);
  reply.stream(
      Where::simulation, [writer](std::string& out) { return writer->write(out); },
      prometheus ? "text/plain; version=0.0.4; charset=utf-8; escaping=underscores" : "application/json");
}

}  // namespace

void add_metric_routes(Router& router) { router.plain("/v1/metrics", metrics); }

}  // namespace berth::http
