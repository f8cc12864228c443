#include "sim/workload.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/edit_distance.h"
#include "io/files.h"
#include "sim/cluster_path.h"
#include "sim/toml_changes.h"
#include "sim/toml_section.h"
#include "sim/workload_parts.h"
#include "sim/workload_words.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMaxWorkloadBytes = 4 << 20;

constexpr std::pair<const char*, Mode> kModes[] = {{"sampled", Mode::sampled}, {"exhaustive", Mode::exhaustive}};
constexpr std::pair<const char*, Algorithm> kAlgorithms[] = {{"binpack", Algorithm::binpack},
                                                             {"spread", Algorithm::spread}};
constexpr std::pair<const char*, Order> kOrders[] = {
    {"nomad", Order::nomad}, {"mix", Order::mix}, {"lazy", Order::lazy}, {"identity", Order::identity}};
constexpr std::pair<const char*, Process> kProcesses[] = {
    {"backlog", Process::backlog}, {"fixed", Process::fixed}, {"poisson", Process::poisson}, {"trace", Process::trace}};
constexpr std::pair<const char*, CommitOrder> kCommits[] = {{"deterministic", CommitOrder::deterministic},
                                                            {"free", CommitOrder::free}};
constexpr std::pair<const char*, Clock> kClocks[] = {{"skip", Clock::skip}, {"wait", Clock::wait}};

ArrivalSpec read_arrivals(TomlReader& reader, const toml::table* table, std::size_t line, Source jobs) {
  TomlSection in(reader, table, "[arrivals]", line);
  ArrivalSpec out;
  out.process = in.choice("process", Process::backlog, list_of(kProcesses));
  out.clock = in.choice("clock", Clock::skip, list_of(kClocks));
  out.rate_per_s = in.number("rate_per_s", 0, 1e-6, 1e9);
  out.speed = in.number("speed", 1, 1e-6, 1e12);
  const std::string why = fmt::format("process = \"{}\"", to_text(out.process));
  const bool rated = out.process == Process::fixed || out.process == Process::poisson;
  if (rated && out.rate_per_s == 0) in.fail("process", why + " has no rate", "write e.g. rate_per_s = 100");
  if (!rated) refuse(in, {"rate_per_s"}, why);
  const bool timed =
      jobs == Source::openb || jobs == Source::openb_like || jobs == Source::imported || jobs == Source::trace;
  if (out.process == Process::trace && !timed)
    in.fail("process", why + " needs jobs with recorded times",
            "use jobs of openb, openb-like, import or trace, or another process");
  if (out.process == Process::backlog) refuse(in, {"clock"}, why);
  in.finish();
  return out;
}

/// Reads the labels and checks that `label` is one of them.
void read_labels(TomlReader& reader, const toml::table& root, Workload& out) {
  TomlSection in(reader, &root, "the workload", 1);
  out.labels = in.texts("labels");
  if (out.labels.empty()) out.labels = {"full"};
  for (const std::string& name : out.labels) check_name(in, "labels", name);
  const std::set<std::string, std::less<>> known(out.labels.begin(), out.labels.end());
  if (known.size() != out.labels.size()) in.fail("labels", "a label is named twice", "name it once");
  if (!known.contains(out.label))
    in.fail(
        "labels", "there is no label '" + out.label.substr(0, 40) + "'",
        base::did_you_mean(out.label, out.labels) + "use one of: " + [&] {
          std::string all;
          for (const std::string& name : out.labels) all += (all.empty() ? "" : ", ") + name.substr(0, 40);
          return all;
        }());
  if (const toml::table* changes = in.table("label"))
    for (const auto& [name, change] : *changes) {
      if (!known.contains(name.str()))
        reader.fail(name.source().begin.line, fmt::format("[label.{}] is not in 'labels'", name.str().substr(0, 40)),
                    "add it there");
      if (!change.is_table())
        reader.fail(change.source().begin.line, fmt::format("'label.{}' is not a table", name.str().substr(0, 40)),
                    "write [label.NAME]");
      else if (change.as_table()->contains("label") || change.as_table()->contains("labels"))
        reader.fail(change.source().begin.line, "a label cannot change the labels", "remove that");
    }
}

/// Replaces keys by the values that the label sets.
void apply_label(toml::table& root, const std::string& label) {
  toml::table* changes = root.get_as<toml::table>("label");
  if (!changes) return;
  toml::table* change = changes->get_as<toml::table>(label);
  toml::table own = change ? std::move(*change) : toml::table{};
  root.erase("label");
  merge_toml(root, std::move(own));
}

/// Reads [strategies] and checks that the workload's strategy exists.
void read_strategies(TomlReader& reader, TomlSection& in, const NameChecks& check, Workload& out) {
  if (const toml::table* sums = in.table("strategies"))
    for (const auto& [name, parts] : *sums) {
      const auto line = static_cast<std::size_t>(name.source().begin.line);
      const std::string shown(name.str().substr(0, 40));
      std::string sum = "sum";
      if (const toml::table* weights = parts.as_table(); weights && !weights->empty()) {
        for (const auto& [component, weight] : *weights) {
          if (const auto number = weight.value<double>())
            sum += fmt::format(":{}={}", component.str().substr(0, 60), *number);
          else if (const auto word = weight.value<std::string>())
            sum += fmt::format(":{}={}", component.str().substr(0, 60), *word);
          else
            reader.fail(line, fmt::format("a weight of strategy '{}' is no number", shown), "write e.g. cosine = 0.5");
        }
      } else if (const auto text = parts.value<std::string>()) {
        sum = *text;
      } else {
        reader.fail(line, fmt::format("'strategies.{}' is not a table of weights or a strategy's text", shown),
                    "write e.g. mine = { cosine = 1.0, best-fit = 0.5 } or mine = \"expr:-left_cpu\"");
      }
      check_name(in, "strategies", std::string(name.str()));
      out.strategies.emplace(name.str(), sum);
    }
  if (out.strategy == "nomad") return;
  if (auto fine = check.strategy(out, out.strategy); !fine)
    in.fail("strategy", fine.error().path + ": " + fine.error().problem,
            fine.error().remedy + "; or nomad, its own fit");
}

void read_queue(TomlSection& in, const NameChecks& check, Workload& out) {
  out.queue = in.text("queue", out.queue);
  if (out.queue == "priority") return;
  if (auto fine = check.queue(out, out.queue); !fine)
    in.fail("queue", fine.error().path + ": " + fine.error().problem, fine.error().remedy);
}

void read_options(TomlReader& reader, const toml::table* options, model::Options& out) {
  if (!options) return;
  const auto set = [&](const toml::key& key, const std::string& name, const toml::node& value) {
    std::string word = value.value_exact<std::string>().value_or("");
    if (const auto number = value.value_exact<std::int64_t>()) word = std::to_string(*number);
    if (const auto truth = value.value_exact<bool>()) word = *truth ? "true" : "false";
    if (auto done = model::set_option(out, name + "=" + word); !done)
      reader.fail(static_cast<std::size_t>(key.source().begin.line), done.error(),
                  "see [options] in bench/macro/README.md");
  };
  // Keys are sorted: `compat` comes before the single quirks, which are a separate table.
  for (const auto& [name, value] : *options) {
    const std::string key(name.str());
    const toml::table* quirks = value.as_table();
    if (!quirks) set(name, key, value);
    if (quirks && quirks->empty()) set(name, key, value);
    if (quirks)
      for (const auto& [quirk, setting] : *quirks) set(quirk, key + "." + std::string(quirk.str()), setting);
  }
}

std::optional<PeerFigure> read_peer(TomlReader& reader, const toml::table* table, std::size_t line) {
  if (!table) return std::nullopt;
  TomlSection in(reader, table, "[peer]", line);
  PeerFigure out;
  out.system = in.text("system", "");
  out.source = in.text("source", "");
  out.note = in.text("note", "");
  out.value = in.number("value", 0, 1e-9, 1e12);
  out.is_rate = in.choice("unit", false, {{"s", false}, {"placements/s", true}});
  for (const char* key : {"system", "source"})
    if (!in.has(key)) in.fail("", fmt::format("[peer] has no '{}'", key), "bench/macro/README.md lists its keys");
  in.finish();
  return in.has("value") ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<CarbonSpec> read_carbon(TomlReader& reader, const toml::table* table, std::size_t line) {
  if (!table) return std::nullopt;
  TomlSection in(reader, table, "[carbon]", line);
  CarbonSpec out;
  out.grams_per_kwh = in.numbers("grams_per_kwh", 0, 1e6);
  if (out.grams_per_kwh.size() == 1) out.grams_per_kwh.assign(kHoursOfDay, out.grams_per_kwh.front());
  out.file = in.text("file", "");
  if (in.has("grams_per_kwh") == in.has("file"))
    in.fail_at(line, "[carbon] needs one of 'grams_per_kwh' and 'file'", "write e.g. grams_per_kwh = 350");
  else if (out.file.empty() && out.grams_per_kwh.size() != kHoursOfDay)
    in.fail("grams_per_kwh", fmt::format("'grams_per_kwh' has {} values", out.grams_per_kwh.size()),
            "write one number, or 24: one per hour of the day");
  in.finish();
  return out;
}

/// Reports settings that contradict each other.
constexpr double kMostArrivals = 1e8;

/// Number of jobs that arrive by the rates of all kinds until the end of the simulated time.
double expected_arrivals(const Workload& workload) {
  double sum = 0;
  const std::int64_t end_ns = workload.life->duration_ns;
  for (const JobKindSpec& kind : workload.jobs.kinds) {
    const auto& rate = kind.life.rate;
    for (std::size_t i = 0; i < rate.size() && rate[i].first < end_ns; ++i) {
      const bool last = i + 1 == rate.size();  // the rate stays as it is then
      const double seconds =
          static_cast<double>(std::min(end_ns, last ? end_ns : rate[i + 1].first) - rate[i].first) / 1e9;
      const double length = last ? seconds : static_cast<double>(rate[i + 1].first - rate[i].first) / 1e9;
      const double slope = last || length <= 0 ? 0 : (rate[i + 1].second - rate[i].second) / length;
      sum += seconds * (rate[i].second + slope * seconds / 2);
    }
  }
  return sum * workload.jobs.rate_scale;
}

void check_together(TomlSection& in, const Workload& out) {
  if (out.carbon && !gives_power(out))
    in.fail("carbon", "[carbon] needs the power of the nodes", "write 'power' in [[cluster.shapes]], or remove it");
  if (out.peer && (out.limits.placements > 0 || out.limits.seconds > 0))
    in.fail("limits", "[limits] next to [peer]", "remove one: a published value is of a whole run");
  const bool grid_cluster = out.cluster.source == Source::nomad_grid, grid_jobs = out.jobs.source == Source::nomad_grid;
  if (grid_cluster != grid_jobs)
    in.fail(grid_cluster ? "cluster" : "jobs", "nomad-grid is a cluster together with its jobs",
            "use generator = \"nomad-grid\" in [cluster] and in [jobs]");
  if (!grid_jobs && in.has("grid")) in.fail("grid", "[grid] is only for nomad-grid", "remove it");
  if (grid_jobs && (in.has("arrivals") || out.departures))
    in.fail(in.has("arrivals") ? "arrivals" : "departures", "every cell of nomad-grid is one evaluation of its own",
            "remove arrivals and departures");
  if (out.cluster.gpu_shares != 1 && out.jobs.source != Source::openb && out.jobs.source != Source::openb_like)
    in.fail("cluster", "'gpu_sharing' needs jobs that share GPUs", "use jobs of openb or openb-like");
  if (out.departures && out.jobs.source == Source::mix &&
      std::none_of(out.jobs.kinds.begin(), out.jobs.kinds.end(), [](const auto& k) { return k.ends(); }))
    in.fail("departures", "no kind of job has a run time", "add run_time_s or remove departures");
  if (out.departures && out.jobs.source == Source::files)
    in.fail("departures", "jobs from a file have no run time", "remove departures");
  if (out.departures && out.jobs.source == Source::openb && out.jobs.list == "multigpu20")
    in.fail("departures", "the list multigpu20 has no times", "remove departures or use another list");
  if (out.arrivals.process == Process::trace && out.jobs.source == Source::openb && out.jobs.list == "multigpu20")
    in.fail("arrivals", "the list multigpu20 has no times", "use another process or another list");
  const bool imports = out.cluster.source == Source::imported;
  if (out.jobs.source == Source::imported && !imports)
    in.fail("jobs", "jobs of generator = \"import\" are those of an imported cluster",
            "use generator = \"import\" in [cluster] too");
  if (out.life && imports)
    in.fail("life", "an imported cluster has no [life] here", "remove [life]; `berth serve CLUSTER` plays one");
  if (out.life && (grid_jobs || grid_cluster)) in.fail("life", "nomad-grid has no life", "remove [life]");
  if (!out.life && !out.options.remote_task_drivers.empty())
    in.fail("options", "remote_task_drivers is for clients, and only a life has some", "add [life], or leave it out");
  if (out.life && in.has("departures"))
    in.fail("departures", "in a life allocations end by themselves", "remove 'departures'");
  if (out.life && out.commits != CommitOrder::deterministic)
    in.fail("commits", "the plans of a life are committed in turn", "remove it");
  if (const double arrivals = out.life ? expected_arrivals(out) : 0; arrivals > kMostArrivals)
    in.fail("life", fmt::format("about {:g} jobs would arrive", arrivals),
            fmt::format("lower 'rate' or 'duration_s': keep to {:g}", kMostArrivals));
  if (out.life && out.cluster.joins.nodes > 0 && out.cluster.joins.due_ns(0) > out.life->duration_ns)
    in.fail("cluster", "nodes join only after the end", "lower 'start_s' of [cluster.joins] or raise 'duration_s'");
  if (out.cluster.source == Source::mix) {
    std::set<std::string, std::less<>> pools = {"default", "all"};
    for (const ShapeSpec& shape : out.cluster.shapes) pools.insert(shape.pool);
    for (const JobKindSpec& kind : out.jobs.kinds)
      if (!pools.contains(kind.pool))
        in.fail_at(kind.line, fmt::format("no node is in the pool '{}' of the kind '{}'", kind.pool, kind.name),
                   "name a pool of [[cluster.shapes]]");
  }
  if (out.life && out.arrivals.clock == Clock::wait)
    in.fail("arrivals", "a life has a virtual clock, without real time to wait for", "remove clock = \"wait\"");
}

}  // namespace

bool gives_power(const Workload& workload) {
  const ClusterSpec& cluster = workload.cluster;
  if (cluster.source == Source::openb || cluster.source == Source::openb_like) return true;
  return cluster.source == Source::mix && !cluster.shapes.empty() && cluster.shapes.front().has_power;
}
bool gives_price(const Workload& workload) {
  return workload.cluster.source == Source::mix && !workload.cluster.shapes.empty() &&
         workload.cluster.shapes.front().has_price;
}

const char* to_text(Mode v) { return word_of(kModes, v); }
const char* to_text(Algorithm v) { return word_of(kAlgorithms, v); }
const char* to_text(Order v) { return word_of(kOrders, v); }
const char* to_text(Source v) { return word_of(kSources, v); }
const char* to_text(Process v) { return word_of(kProcesses, v); }
const char* to_text(Clock v) { return word_of(kClocks, v); }
const char* to_text(CommitOrder v) { return word_of(kCommits, v); }

Result<Workload> parse_workload(std::string_view text, const std::string& path, const std::string& label,
                                const std::vector<Change>& changes, const NameChecks& check) {
  TomlReader reader{path, {}};
  toml::table root;
  try {
    root = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    std::string problem(error.description());
    for (char& c : problem)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return tl::unexpected(InputError{path, std::to_string(error.source().begin.line), "not TOML: " + problem,
                                     "correct the line; see bench/macro/README.md"});
  }

  Workload out;
  out.path = path;
  out.label = label;
  read_labels(reader, root, out);
  if (reader.error) return tl::unexpected(*reader.error);
  apply_label(root, label);
  if (auto error = apply_changes(root, changes))
    return tl::unexpected(InputError{path, "", error->problem, error->remedy});

  TomlSection in(reader, &root, "the workload", 1);
  static_cast<void>(in.texts("labels"));
  out.name = in.text("name", "");
  if (out.name.empty())
    in.fail("", "the workload has no 'name'", "write name = \"...\" in the first lines");
  else
    check_name(in, "name", out.name);
  out.description = in.text("description", "");
  out.approximate = in.texts("approximate");
  out.seed = static_cast<std::uint64_t>(in.integer("seed", 1, 0, INT64_MAX));
  out.mode = in.choice("mode", out.mode, list_of(kModes));
  out.algorithm_given = in.has("algorithm"), out.preemption_given = in.has("preemption");
  out.algorithm = in.choice("algorithm", out.algorithm, list_of(kAlgorithms));
  out.strategy = in.text("strategy", "nomad");
  out.order = in.choice("order", out.order, list_of(kOrders));
  read_strategies(reader, in, check, out);
  read_queue(in, check, out);
  out.workers = in.integer("workers", 1, 1, 1024);
  out.commits = in.choice("commits", out.commits, list_of(kCommits));
  out.departures = in.boolean("departures", false);
  {
    TomlSection part(reader, in.table("preemption"), "[preemption]", 0);
    out.preemption.system = part.boolean("system", out.preemption.system);
    out.preemption.sysbatch = part.boolean("sysbatch", out.preemption.sysbatch);
    out.preemption.batch = part.boolean("batch", out.preemption.batch);
    out.preemption.service = part.boolean("service", out.preemption.service);
    part.finish();
  }
  read_options(reader, in.table("options"), out.options);
  {
    TomlSection part(reader, in.table("limits"), "[limits]", 0);
    out.limits.placements = part.integer("placements", 0, 1, INT64_MAX);
    out.limits.seconds = part.number("seconds", 0, 1e-3, 1e9);
    part.finish();
  }
  if (!in.has("cluster")) in.fail("", "the workload has no [cluster]", "add the table");
  out.cluster = read_cluster(reader, in.table("cluster"), in.line("cluster"));
  if (!in.has("jobs")) in.fail("", "the workload has no [jobs]", "add the table");
  const bool lives = in.has("life");
  out.jobs = read_jobs(reader, in.table("jobs"), in.line("jobs"), lives);
  out.arrivals = read_arrivals(reader, in.table("arrivals"), in.line("arrivals"), out.jobs.source);
  {
    TomlSection part(reader, in.table("grid"), "[grid]", 0);
    const auto cells = part.quantity("cells", Quantity::uniform(1, 120), 1, 120);
    if (!cells.is_range()) part.fail("cells", "'cells' is neither a number nor a range", "write cells = [1, 120]");
    out.grid.first_cell = cells.min(), out.grid.last_cell = cells.max();
    out.grid.repetitions = part.integer("repetitions", out.grid.repetitions, 1, 1000);
    part.finish();
  }
  out.peer = read_peer(reader, in.table("peer"), in.line("peer"));
  out.carbon = read_carbon(reader, in.table("carbon"), in.line("carbon"));
  if (lives) out.life = read_life(reader, in);
  for (const char* key : {"events", "faults", "tasks"})
    if (!lives && in.has(key)) in.fail(key, fmt::format("[[{}]] need a [life]", key), "write [life] duration_s = ...");
  in.finish();

  check_together(in, out);
  if (!reader.error) return out;
  // If the file alone is valid, the changes are wrong, and lines of the file would mislead.
  if (!changes.empty() && parse_workload(text, path, label, {}, check))
    reader.error->place = "with " + to_text(changes);
  return tl::unexpected(*reader.error);
}

Result<Workload> read_workload(const std::string& path, const std::string& label, const std::vector<Change>& changes,
                               const NameChecks& check) {
  if (const auto cluster = workload_of_cluster(path)) {
    auto out = parse_workload(*cluster, path, label, changes, check);
    if (out) out->cluster.nodes_file = std::filesystem::absolute(path).string();
    return out;
  }
  const tl::unexpected<InputError> refused(InputError{
      path, "", "is not a workload file", "name a TOML file below 4 MiB, or a cluster as `berth import` reads it"});
  struct stat info {};
  // Refused before reading: a device may have no end, and no workload is this long.
  if (path != "-" && stat(path.c_str(), &info) == 0 &&
      (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) || (S_ISREG(info.st_mode) && info.st_size > kMaxWorkloadBytes)))
    return refused;
  auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  if (text->size() > kMaxWorkloadBytes) return refused;
  return parse_workload(*text, path, label, changes, check);
}

}  // namespace berth::sim
