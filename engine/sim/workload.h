// A workload, the input of `berth run`, as plain values, and its reader. The file format is documented in
// bench/macro/README.md; every key has the same name there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/power.h"
#include "berth/result.h"
#include "model/options.h"
#include "sched/source/sources.h"
#include "sim/changes.h"
#include "sim/life_spec.h"
#include "sim/quantity.h"

namespace berth::sim {

/// Latest due time of an event, so that it plus a run time fits into 64 bits: 127 years.
inline constexpr double kLatestNs = 4e18;

enum class Mode : std::uint8_t { sampled, exhaustive };
enum class Algorithm : std::uint8_t { binpack, spread };
enum class Order : std::uint8_t { nomad, mix, lazy, identity };  ///< order providers, R-RANK-305 to 307
enum class Source : std::uint8_t { mix, nomad_grid, openb, openb_like, files, imported, trace };
enum class Process : std::uint8_t { backlog, fixed, poisson, trace };
/// How the plans of several workers are committed.
enum class CommitOrder : std::uint8_t {
  deterministic,  ///< in turn: the decisions of one worker, for any number of workers
  free,           ///< in any order: Nomad's optimistic concurrency, with refusals and retries
};
enum class Clock : std::uint8_t {
  skip,  ///< idle time is skipped: the clock jumps to the next event
  wait,  ///< idle time is waited for
};

struct DeviceSpec {
  std::string vendor, type, name;
  std::int64_t count = 1;  ///< healthy instances per node
  std::map<std::string, std::string> attributes;
};

/// One kind of node of a mixed cluster. Units: MHz, MiB, Mbit/s.
struct ShapeSpec {
  std::string name;        ///< also the node class, unless node_class is set
  double weight = 1;       ///< share of the nodes, relative to the other shapes
  std::int64_t nodes = 0;  ///< exact number, the first nodes of the cluster, variants in turn; then weight is 0
  std::int64_t variants = 1;
  std::int64_t cores = 0, mhz_per_core = 0, memory_mb = 0, disk_mb = 0, network_mbits = 0;
  std::int64_t reserved_cpu_mhz = 0, reserved_memory_mb = 0, reserved_disk_mb = 0;
  std::string reserved_ports, node_class, pool = "default";
  /// Per attribute one or several values; variant v of the shape has value number v mod their count.
  std::map<std::string, std::vector<std::string>> attributes, meta;
  std::vector<std::string> drivers, host_volumes;
  std::vector<DeviceSpec> devices;
  bool has_power = false, has_price = false;
  strategy::NodeRates rates;
};

/// Allocations that exist before the run starts.
struct LoadSpec {
  Quantity percent = 0;  ///< of the usable cpu or memory of a node, whichever is reached first
  Quantity cpu_mhz = 500, memory_mb = 512, disk_mb = 150, priority = 50;
  std::int64_t jobs = 16;  ///< distinct resource requests
};

/// Nodes that join after the start: the last ones of the cluster, one after the other.
struct JoinSpec {
  std::int64_t nodes = 0;
  double start_s = 0, rate_per_s = 1;
  [[nodiscard]] std::int64_t due_ns(std::size_t n) const {
    return static_cast<std::int64_t>(std::min((start_s + static_cast<double>(n) / rate_per_s) * 1e9, kLatestNs));
  }
};

struct ClusterSpec {
  Source source = Source::mix;
  std::int64_t nodes = 0, racks = 0;
  std::vector<std::string> datacenters;
  std::vector<ShapeSpec> shapes;
  std::optional<LoadSpec> load;
  JoinSpec joins;
  std::string nodes_file;       ///< source files: a JSON array of nodes; source imported: a cluster that `berth import`
                                ///< reads. From the workload's folder
  std::string list;             ///< source openb: which node list, "gpu_node" or "all_node"
  std::int64_t gpu_shares = 1;  ///< instances per physical GPU
};

/// A constraint, an affinity (weight not 0) or a device constraint that a percentage of the templates carries.
struct RuleSpec {
  std::string attribute, operand;
  std::vector<std::string> values;  ///< a template draws one
  std::int64_t weight = 0, percent = 100;
};

struct SpreadSpec {
  std::string attribute;
  std::int64_t weight = 50, percent = 100;
  std::vector<std::pair<std::string, std::int64_t>> targets;  ///< value, percent
};

struct DeviceAskSpec {
  std::string name;
  Quantity count = 1;
  std::int64_t percent = 100;  ///< of the templates
  std::vector<RuleSpec> constraints, affinities;
};

/// One kind of job of a mix. Quantities are drawn once per template; run times once per arrival.
struct JobKindSpec {
  std::uint32_t line = 0;                                                                    ///< of the file
  std::string name, type = "service", space = "default", pool = "default", driver = "exec";  ///< space: the namespace
  double weight = 1;
  std::int64_t jobs = 0;  ///< exact number of arrivals, added to those of JobsSpec::count; then weight is 0
  double from_s = 0;      ///< added to due times
  std::int64_t templates = 16;
  Quantity priority = 50, count = 1, groups = 1, tasks = 1;
  Quantity cpu_mhz = 100, memory_mb = 300, disk_mb = 300, ports = 0;
  Quantity static_port = 0;                         ///< requested port number; 0: none
  Quantity cores = 0;                               ///< reserved for the first task, in place of cpu_mhz
  std::vector<std::string> host_volumes;            ///< mounted by each allocation
  std::optional<Quantity> run_time_s, run_time_ms;  ///< at most one of them; none: never ends
  std::optional<Quantity> deadline_s;               ///< after the arrival, drawn per template
  /// The job is a gang (model/gang.h): the texts of its meta; the last two may be empty.
  struct GangSpec {
    std::string timeout, topology;
  };
  std::optional<GangSpec> gang;
  std::int64_t fail_percent = 0;
  std::int64_t update_percent = 0;  ///< arrivals that are a new version of one of the kind's last jobs
  bool distinct_hosts = false;
  std::vector<std::string> datacenters = {"*"};
  std::vector<RuleSpec> constraints, affinities;
  std::vector<SpreadSpec> spreads;
  std::vector<DeviceAskSpec> devices;
  JobLife life;

  [[nodiscard]] bool ends() const { return run_time_s || run_time_ms; }
  [[nodiscard]] std::int64_t draw_run_ns(base::Random& random) const {
    return run_time_s ? run_time_s->draw(random) * 1'000'000'000 : run_time_ms->draw(random) * 1'000'000;
  }
};

struct JobsSpec {
  Source source = Source::mix;
  std::int64_t count = 0;  ///< arrivals; 0 = all of the source
  double rate_scale = 1;   ///< factor for kinds that arrive by a curve
  std::vector<JobKindSpec> kinds;
  std::string file;  ///< source files: a JSON array of jobs; source trace: a CSV. From the workload's folder
  std::string list;  ///< source openb: default, cpu050, gpushare40, gpuspec33, multigpu20
};

struct ArrivalSpec {
  Process process = Process::backlog;
  Clock clock = Clock::skip;
  double rate_per_s = 0;  ///< processes fixed and poisson: jobs per second
  double speed = 1;       ///< process trace: recorded seconds per second; run times are divided by it too
};

struct LimitSpec {
  std::int64_t placements = 0;  ///< 0 = none
  double seconds = 0;           ///< of the run, not counting the set-up; 0 = none
};

struct GridSpec {
  std::int64_t first_cell = 1, last_cell = 120, repetitions = 5;
};

/// A result that others published for their scheduler on a cluster and jobs of this shape.
struct PeerFigure {
  std::string system, source, note;  ///< name; address of the result; how the workload differs
  double value = 0;
  bool is_rate = false;  ///< placements per second; else seconds for the whole run
};

inline constexpr std::size_t kHoursOfDay = 24;

/// Carbon intensity of the electricity, by hour of the day; time 0 of the workload is midnight.
struct CarbonSpec {
  std::vector<double> grams_per_kwh;  ///< 24, unless they are in `file`
  std::string file;                   ///< a CSV file, from the workload's folder
};

struct Preemption {
  bool system = true, sysbatch = false, batch = false, service = false;  ///< Nomad's defaults (R-PREEMPT-101)
};

struct Workload {
  std::string path, name, description;
  std::vector<std::string> labels;
  std::string label;                     ///< the label in use
  std::vector<std::string> approximate;  ///< how it differs from what it stands for; for reports
  std::vector<std::string> templates;    ///< other files that its text comes from, those of scheduler_perf
  std::uint64_t seed = 1;
  Mode mode = Mode::sampled;
  Algorithm algorithm = Algorithm::binpack;
  std::string strategy = "nomad";
  /// Sums of strategies for `berth compare`: name -> "sum:component=weight:...".
  std::map<std::string, std::string> strategies;
  Order order = Order::nomad;
  std::string queue = "priority";  ///< queue policy: the order in which waiting evaluations are decided
  std::int64_t workers = 1;
  CommitOrder commits = CommitOrder::deterministic;
  bool departures = false;  ///< allocations end after their run time
  Preemption preemption;
  /// Whether `algorithm` and [preemption] were given. If not, an imported cluster keeps its own.
  bool algorithm_given = false, preemption_given = false;
  model::Options options;         ///< [options]: compat and earlier behaviour
  sched::EnabledSources sources;  ///< not a key of the file: decisions do not depend on it
  ClusterSpec cluster;
  JobsSpec jobs;
  ArrivalSpec arrivals;
  LimitSpec limits;
  GridSpec grid;
  std::optional<PeerFigure> peer;
  std::optional<CarbonSpec> carbon;
  std::optional<LifeSpec> life;  ///< [life]: a simulation with clients, faults and time instead of a replay
};

/// True if the power of all nodes is known, or the price of all shapes.
[[nodiscard]] bool gives_power(const Workload& workload);
[[nodiscard]] bool gives_price(const Workload& workload);

[[nodiscard]] const char* to_text(Mode);
[[nodiscard]] const char* to_text(Algorithm);
[[nodiscard]] const char* to_text(Order);
[[nodiscard]] const char* to_text(Source);
[[nodiscard]] const char* to_text(Process);
[[nodiscard]] const char* to_text(Clock);
[[nodiscard]] const char* to_text(CommitOrder);

/// Reads a workload file and applies the changes of `label`, then `changes`. Unknown keys and labels, values out of
/// range and contradicting settings are errors. Errors name the file, the line, the problem and a remedy.
[[nodiscard]] Result<Workload> read_workload(const std::string& path, const std::string& label = "full",
                                             const std::vector<Change>& changes = {});
/// The same from text; `path` is for errors and for the relative files the workload names.
[[nodiscard]] Result<Workload> parse_workload(std::string_view text, const std::string& path,
                                              const std::string& label = "full",
                                              const std::vector<Change>& changes = {});

/// Checks that the strategy `name`, or the queue policy `name`, exists. Not called for "nomad" and "priority".
struct NameChecks {
  Result<void> (*strategy)(const Workload& workload, const std::string& name);
  Result<void> (*queue)(const Workload& workload, const std::string& name);
};
/// The same with the caller's check, for programs that do not link all strategies.
[[nodiscard]] Result<Workload> read_workload(const std::string& path, const std::string& label,
                                             const std::vector<Change>& changes, const NameChecks& check);
[[nodiscard]] Result<Workload> parse_workload(std::string_view text, const std::string& path, const std::string& label,
                                              const std::vector<Change>& changes, const NameChecks& check);

}  // namespace berth::sim
