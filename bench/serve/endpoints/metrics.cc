// Metrics as monitoring reads them (R-API-518, 519): JSON, or the text format of Prometheus. Every gauge is read from
// the state when it is asked for; a large cluster's are sent in pieces.
#include <algorithm>

#include "base/time.h"
#include "serve/endpoints/endpoints.h"
#include "serve/endpoints/objects.h"

namespace berth::serve {

namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;

constexpr std::size_t kMetricsPiece = 32 << 10;
constexpr std::int64_t kInterval = 10 * base::kSecond;

/// What both formats are written with.
class GaugeWriter {
 public:
  explicit GaugeWriter(bool prometheus) : prometheus_(prometheus) {}

  void begin(std::int64_t now_ns, std::string& out) const {
    if (prometheus_) return;
    std::string at = base::to_rfc3339(base::Time{now_ns - now_ns % kInterval});
    at.replace(at.find('T'), 1, " "), at.replace(at.find('Z'), 1, " +0000 UTC");
    out += "{\"Timestamp\":\"" + at + "\",\"Gauges\":[";
  }
  void end(std::string& out) const {
    if (!prometheus_) out += "],\"Counters\":[],\"Samples\":[],\"Points\":[]}";
  }
  void gauge(const std::string& name, double value, const Labels& labels, std::string& out) {
    if (prometheus_)
      write_prometheus(name, value, labels, out);
    else
      write_json(name, value, labels, out);
  }

 private:
  void write_json(const std::string& name, double value, const Labels& labels, std::string& out) {
    out += first_ ? "{\"Name\":" : ",{\"Name\":";
    first_ = false;
    json::append_quoted(out, name);
    out += ",\"Value\":" + number(value) + ",\"Labels\":{";
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (i > 0) out += ',';
      json::append_quoted(out, labels[i].first);
      out += ':';
      json::append_quoted(out, labels[i].second);
    }
    out += "}}";
  }
  void write_prometheus(const std::string& name, double value, const Labels& labels, std::string& out) {
    std::string plain = name;
    for (char& c : plain)
      if (c == '.' || c == '-') c = '_';
    if (plain != last_) out += "# TYPE " + plain + " gauge\n";
    last_ = plain;
    out += plain;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      out += i == 0 ? '{' : ',';
      out += std::string(labels[i].first) + "=\"";
      for (const char c : labels[i].second) {
        if (c == '\\' || c == '"') out += '\\';
        if (c == '\n')
          out += "\\n";
        else
          out += c;
      }
      out += '"';
    }
    out += labels.empty() ? " " : "} ";
    out += number(value) + "\n";
  }
  static std::string number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? std::to_string(whole) : json::double_text(value);
  }

  const bool prometheus_;
  bool first_ = true;
  std::string last_;
};

/// One name, and the values under it: `write` is asked for each row in turn.
struct Family {
  std::string name;
  std::size_t rows = 1;
  std::function<void(std::size_t row, const std::string& name, GaugeWriter& to, std::string& out)> write;
};

void add_node_families(Simulation& simulation, std::vector<Family>& out) {
  struct Amount {
    const char* name;
    std::int64_t (*of)(const tables::NodeCapacity&, const tables::NodeUse&);
  };
  using Capacity = tables::NodeCapacity;
  using Use = tables::NodeUse;
  static constexpr Amount kAmounts[] = {
      {"nomad.client.allocated.cpu", [](const Capacity&, const Use& use) { return use.cpu_mhz; }},
      {"nomad.client.allocated.disk", [](const Capacity&, const Use& use) { return use.disk_mb; }},
      {"nomad.client.allocated.memory", [](const Capacity&, const Use& use) { return use.memory_mb; }},
      {"nomad.client.unallocated.cpu", [](const Capacity& of, const Use& use) { return of.cpu_mhz - use.cpu_mhz; }},
      {"nomad.client.unallocated.disk", [](const Capacity& of, const Use& use) { return of.disk_mb - use.disk_mb; }},
      {"nomad.client.unallocated.memory",
       [](const Capacity& of, const Use& use) { return of.memory_mb - use.memory_mb; }}};
  for (const Amount& amount : kAmounts)
    out.push_back({amount.name, simulation.state().nodes.size(),
                   [&simulation, &amount](std::size_t at, const std::string& name, GaugeWriter& to, std::string& text) {
                     const tables::Snapshot& state = simulation.state();
                     const auto row = static_cast<tables::NodeRow>(at);
                     if (!state.nodes.exists(row)) return;
                     const auto column = [&](tables::ColumnId id) {
                       const std::string* value = state.value_text(id, row);
                       return value ? *value : std::string();
                     };
                     const std::string node_class = column(tables::kClassColumn);
                     to.gauge(name, static_cast<double>(amount.of(state.nodes.capacity(row), state.nodes.use[row])),
                              {{"node_id", base::to_text(state.nodes.id(row))},
                               {"datacenter", column(tables::kDatacenterColumn)},
                               {"node_class", node_class.empty() ? "none" : node_class},
                               {"node_pool", column(tables::kPoolColumn)},
                               {"node_status", tables::to_text(state.nodes.status(row))},
                               {"node_scheduling_eligibility",
                                state.nodes.state[row] & tables::kEligible ? "eligible" : "ineligible"}},
                              text);
                   }});
}

void add_single(std::vector<Family>& out, std::string name, double value) {
  out.push_back({std::move(name), 1, [value](std::size_t, const std::string& as, GaugeWriter& to, std::string& text) {
                   to.gauge(as, value, {}, text);
                 }});
}

void add_server_families(Simulation& simulation, std::vector<Family>& out) {
  server::Server& server = simulation.server();
  const auto tracked = server.tracker().stats();
  std::int64_t cpu = 0, memory = 0;
  for (const auto& [key, booked] : server.tracker().booked_by_job()) cpu += booked.cpu_mhz, memory += booked.memory_mb;
  const auto add = [&](const char* name, auto value) { add_single(out, name, static_cast<double>(value)); };
  add("nomad.nomad.blocked_evals.cpu", cpu);
  add("nomad.nomad.blocked_evals.memory", memory);
  add("nomad.nomad.blocked_evals.total_blocked", tracked.blocked);
  add("nomad.nomad.blocked_evals.total_escaped", tracked.escaped);
  add("nomad.nomad.blocked_evals.total_quota_limit", tracked.quota_limited);
  const broker::Stats queued = server.broker().stats();
  add("nomad.nomad.broker.total_cancelable", queued.cancelable);
  add("nomad.nomad.broker.total_pending", queued.pending);
  add("nomad.nomad.broker.total_ready", queued.ready);
  add("nomad.nomad.broker.total_unacked", queued.unacked);
  add("nomad.nomad.broker.total_waiting", queued.waiting);
  for (std::size_t queue = 0; queue < queued.queues.size(); ++queue) {
    const std::string name = "nomad.nomad.broker." + std::string(broker::queue_name(static_cast<broker::Queue>(queue)));
    add_single(out, name + ".ready", static_cast<double>(queued.queues[queue].ready));
    add_single(out, name + ".unacked", static_cast<double>(queued.queues[queue].unacked));
  }
  add("nomad.nomad.heartbeat.active", simulation.cluster().watchers().nodes().heartbeats().size());
  add("nomad.nomad.plan.queue_depth", 0);
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
                   [&simulation, bin](std::size_t row, const std::string& as, GaugeWriter& to, std::string& text) {
                     const fsm::JobRecord* record = simulation.log().record(static_cast<tables::JobKeyRow>(row));
                     if (!record || !record->current || !record->summary) return;
                     const model::Job& job = *record->current;
                     for (const auto& [group, of] : record->summary->groups) {
                       Labels labels{{"job", job.id}, {"task_group", group}, {"namespace", job.namespace_}};
                       if (!job.parent_id.empty()) labels.emplace_back("parent_id", job.parent_id);
                       to.gauge(as, static_cast<double>(of.counts[bin]), labels, text);
                     }
                   }});
  }
}

void metrics(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string* format = request.find("format");
  const bool prometheus = format && *format == "prometheus";
  struct State {
    GaugeWriter writer;
    std::vector<Family> families;
    std::int64_t now = 0;
    std::size_t family = 0, row = 0;
    bool begun = false;
  };
  auto state = std::make_shared<State>(State{GaugeWriter(prometheus), {}, simulation.now()});
  add_node_families(simulation, state->families);
  add_server_families(simulation, state->families);
  add_job_families(simulation, state->families);
  std::stable_sort(state->families.begin(), state->families.end(),
                   [](const Family& a, const Family& b) { return a.name < b.name; });
  const auto next = [state](std::string& out) {
    if (!std::exchange(state->begun, true)) state->writer.begin(state->now, out);
    while (state->family < state->families.size()) {
      const Family& family = state->families[state->family];
      while (state->row < family.rows && out.size() < kMetricsPiece)
        family.write(state->row++, family.name, state->writer, out);
      if (state->row < family.rows) return true;
      ++state->family, state->row = 0;
    }
    state->writer.end(out);
    return false;
  };
  reply.stream(Where::simulation, next, prometheus ? "text/plain; version=0.0.4; charset=utf-8" : "application/json");
}

}  // namespace

void add_metric_routes(Router& router) { router.plain("/v1/metrics", metrics); }

}  // namespace berth::serve
