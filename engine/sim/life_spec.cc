#include "sim/life_spec.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/workload_parts.h"

namespace berth::sim {
namespace {

constexpr double kLongestSeconds = 1e9;         // 31 years
constexpr double kLatestStart = 4'102'444'800;  // 2100-01-01, so that the end and later deadlines fit into 64 bits
constexpr std::int64_t kMostTimes = 1'000'000;  // of all events and faults

enum Section : unsigned { kEvents = 1, kFaults = 2, kInner = 0 };
struct ActionRow {
  LifeAction action;
  const char* word;
  unsigned sections;
};
constexpr ActionRow kActions[] = {
    {LifeAction::unreachable, "unreachable", kEvents},
    {LifeAction::reachable, "reachable", kEvents},
    {LifeAction::client_restart, "client-restart", kEvents},
    {LifeAction::deregister, "deregister", kEvents},
    {LifeAction::eligibility, "eligibility", kEvents},
    {LifeAction::drain, "drain", kEvents | kFaults},
    {LifeAction::register_job, "register", kEvents},
    {LifeAction::update, "update", kEvents},
    {LifeAction::scale, "scale", kEvents},
    {LifeAction::stop, "stop", kEvents},
    {LifeAction::evaluate, "evaluate", kEvents},
    {LifeAction::dispatch, "dispatch", kEvents},
    {LifeAction::force_periodic, "force-periodic", kEvents},
    {LifeAction::alloc_stop, "alloc-stop", kEvents},
    {LifeAction::promote, "promote", kEvents},
    {LifeAction::fail, "fail", kEvents},
    {LifeAction::pause, "pause", kEvents},
    {LifeAction::resume, "resume", kEvents},
    {LifeAction::configure, "configure", kEvents},
    {LifeAction::gc, "gc", kEvents},
    {LifeAction::leader_change, "leader-change", kEvents},
    {LifeAction::report_lag, "report-lag", kInner},
    {LifeAction::task_failures, "task-failures", kFaults},
    {LifeAction::loss, "loss", kFaults},
    {LifeAction::partition, "partition", kFaults},
    {LifeAction::rolling_reboot, "rolling-reboot", kFaults},
    {LifeAction::flapping, "flapping", kFaults},
    {LifeAction::slow_clients, "slow-clients", kFaults},
    {LifeAction::scale_curve, "scale-curve", kFaults},
};

std::int64_t ns_of(double seconds) { return std::llround(seconds * 1e9); }

std::int64_t seconds(TomlSection& in, const char* key, std::int64_t fallback_ns, double min = 0,
                     double max = kLongestSeconds) {
  return ns_of(in.number(key, static_cast<double>(fallback_ns) / 1e9, min, max));
}

std::vector<std::pair<std::int64_t, double>> curve_of(TomlSection& in, const char* key, double max) {
  std::vector<std::pair<std::int64_t, double>> out;
  for (const auto& [x, y] : in.curve(key, kLongestSeconds, max)) out.emplace_back(ns_of(x), y);
  return out;
}

std::string word(TomlSection& in, const char* key, std::initializer_list<const char*> words) {
  std::vector<std::pair<const char*, std::string>> values;
  for (const char* w : words) values.emplace_back(w, w);
  return in.choice<std::string>(key, "", values);
}

void read_when(TomlSection& in, LifeStep& step, std::int64_t duration_ns) {
  const double end = static_cast<double>(duration_ns) / 1e9;
  for (const double at : in.numbers("at_s", 0, end)) step.at.push_back(ns_of(at));
  step.every_ns = seconds(in, "every_s", 0, 1e-3);
  step.times = in.integer("times", 0, 1, kMostTimes);
  step.from_ns = ns_of(in.number("from_s", 0, 0, end));
  step.until_ns = ns_of(in.number("until_s", end, 0, end));
  const int ways = in.has("at_s") + in.has("every_s") + in.has("times");
  if (ways == 0) in.fail("", "it is not said when it happens", "write at_s, every_s or times");
  if (ways > 1) in.fail("at_s", "more than one of 'at_s', 'every_s' and 'times'", "keep one");
  if (in.has("at_s") && (in.has("from_s") || in.has("until_s")))
    in.fail(in.has("from_s") ? "from_s" : "until_s", "'from_s' and 'until_s' do not go with 'at_s'", "remove them");
  if (step.until_ns < step.from_ns) in.fail("until_s", "'until_s' comes before 'from_s'", "exchange them");
  if (step.every_ns > 0 && (step.until_ns - step.from_ns) / step.every_ns > kMostTimes)
    in.fail("every_s", "it happens more than 1,000,000 times", "raise 'every_s'");
}

void read_nodes(TomlSection& in, LifeStep& step) {
  step.nodes = in.texts("nodes");
  step.racks = in.texts("racks");
  step.some = in.integer("some", 0, 1, 10'000'000);
  step.percent = in.number("percent", 0, 1e-6, 100);
  step.node_of = in.text("node_of", "");
  step.whole_racks = in.boolean("whole_racks", false);
  if (in.has("node_of")) step.index = in.integer("index", 0, 0, 1'000'000);
  const int ways = in.has("nodes") + in.has("racks") + in.has("some") + in.has("percent") + in.has("node_of");
  if (ways == 0) in.fail("", "it names no nodes", "write nodes, racks, some, percent or node_of");
  if (ways > 1) in.fail("nodes", "more than one of 'nodes', 'racks', 'some', 'percent' and 'node_of'", "keep one");
  if (step.whole_racks && !in.has("some")) in.fail("whole_racks", "'whole_racks' needs 'some'", "add it");
}

void read_job(TomlSection& in, LifeStep& step, bool kinds) {
  step.job = in.text("job", "");
  if (kinds) {
    step.kind = in.text("kind", "");
    if (in.has("kind")) step.percent = in.number("percent", 100, 1e-6, 100);
  }
  if (step.job.empty() == step.kind.empty())
    in.fail("job", kinds ? "it names no job, or a job and a kind" : "it names no job",
            kinds ? "write job = \"...\" or kind = \"...\"" : "write job = \"...\"");
}

void read_for(TomlSection& in, LifeStep& step, bool needed) {
  if (in.has("for_s")) step.for_s = in.quantity("for_s", 0, 1, kMaxAmount);
  if (needed && !step.for_s) in.fail("", "it is not said how long it lasts", "write for_s = ...");
}

void read_how_to_jobs(TomlSection& in, LifeStep& step) {
  switch (step.action) {
    case LifeAction::update:
      step.count = in.integer("count", -1, 0, 1'000'000);
      step.cpu_mhz = in.integer("cpu_mhz", 0, 1, kMaxAmount);
      step.memory_mb = in.integer("memory_mb", 0, 10, kMaxAmount);
      step.canary = in.integer("canary", -1, 0, 1'000'000);
      step.health = word(in, "health", {"never", "unhealthy"});
      break;
    case LifeAction::scale:
      step.group = in.text("group", step.group);
      step.count = in.integer("count", -1, 0, 50'000);
      if (!in.has("count")) in.fail("", "'count' is missing", "write count = 10");
      break;
    case LifeAction::stop:
      step.purge = in.boolean("purge", false);
      break;
    case LifeAction::evaluate:
      step.force_reschedule = in.boolean("force_reschedule", false);
      break;
    case LifeAction::alloc_stop:
      step.group = in.text("group", step.group);
      step.index = in.integer("index", 0, 0, 1'000'000);
      if (in.has("reschedule")) step.reschedule = in.boolean("reschedule", true);
      break;
    case LifeAction::scale_curve:
      step.curve = curve_of(in, "curve", 1000);
      if (step.curve.empty()) in.fail("", "'curve' is missing", "write curve = [[0, 1.0], [3600, 2.0]]");
      break;
    default:
      break;
  }
}

void read_how_it_fails(TomlSection& in, LifeStep& step) {
  switch (step.action) {
    case LifeAction::task_failures:
      step.fail_percent = in.number("fail_percent", 100, 0, 100);
      step.fail_after_ns = seconds(in, "after_s", 0);
      read_for(in, step, true);
      break;
    case LifeAction::loss:
      read_for(in, step, false);
      break;
    case LifeAction::partition:
      read_for(in, step, true);
      break;
    case LifeAction::slow_clients:
      step.lag_ns = seconds(in, "lag_s", 5'000'000'000, 1e-3);
      read_for(in, step, true);
      break;
    case LifeAction::rolling_reboot:
      step.batch = in.integer("batch", 1, 1, 10'000'000);
      step.pause_ns = seconds(in, "pause_s", 60'000'000'000);
      step.down_ns = seconds(in, "down_s", 60'000'000'000, 1e-3);
      step.deadline_ns = seconds(in, "drain_s", 0);
      break;
    case LifeAction::flapping:
      step.down_ns = seconds(in, "down_s", 60'000'000'000, 1e-3);
      step.up_ns = seconds(in, "up_s", 60'000'000'000, 1e-3);
      read_for(in, step, true);
      break;
    default:
      break;
  }
}

/// Reads the keys of a step other than its time and its targets.
void read_how(TomlSection& in, LifeStep& step) {
  switch (step.action) {
    case LifeAction::client_restart:
      step.down_ns = seconds(in, "down_s", 0);
      step.recovered = in.boolean("recovered", true);
      break;
    case LifeAction::eligibility:
      step.eligible = in.boolean("eligible", false);
      if (!in.has("eligible")) in.fail("", "'eligible' is missing", "write eligible = true or false");
      break;
    case LifeAction::drain:
      step.clear = in.boolean("clear", false);
      if (step.clear) {
        step.eligible = in.boolean("mark_eligible", false);
        break;
      }
      step.deadline_ns = seconds(in, "deadline_s", 0, -1);
      step.ignore_system_jobs = in.boolean("ignore_system_jobs", false);
      read_for(in, step, false);
      break;
    case LifeAction::configure: {
      step.algorithm = word(in, "algorithm", {"binpack", "spread"});
      const auto flag = [&](const char* key, std::optional<bool>& value) {
        if (in.has(key)) value = in.boolean(key, false);
      };
      flag("preempt_system", step.preempt_system), flag("preempt_sysbatch", step.preempt_sysbatch);
      flag("preempt_batch", step.preempt_batch), flag("preempt_service", step.preempt_service);
      flag("pause", step.pause_broker);
      break;
    }
    default:
      read_how_to_jobs(in, step), read_how_it_fails(in, step);
  }
}

LifeStep read_step(TomlReader& reader, const toml::table* table, Section section, std::int64_t duration_ns) {
  const std::string name = section == kEvents ? "[[events]]" : "[[faults]]";
  TomlSection in(reader, table, name, 0);
  LifeStep step;
  step.fault = section == kFaults;
  step.line = static_cast<std::uint32_t>(in.line());
  std::vector<std::pair<const char*, LifeAction>> actions;
  for (const ActionRow& row : kActions)
    if (row.sections & section) actions.emplace_back(row.word, row.action);
  if (!in.has("do")) in.fail("", "it is not said what happens", "write do = \"...\"; bench/macro/README.md lists them");
  step.action = in.choice("do", LifeAction::gc, actions);
  read_when(in, step, duration_ns);
  switch (step.action) {
    case LifeAction::gc:
    case LifeAction::leader_change:
    case LifeAction::configure:
      break;
    case LifeAction::update:
    case LifeAction::scale:
    case LifeAction::stop:
    case LifeAction::evaluate:
    case LifeAction::dispatch:
    case LifeAction::task_failures:
    case LifeAction::scale_curve:
      read_job(in, step, true);
      break;
    case LifeAction::register_job:
    case LifeAction::force_periodic:
    case LifeAction::alloc_stop:
    case LifeAction::promote:
    case LifeAction::fail:
    case LifeAction::pause:
    case LifeAction::resume:
      read_job(in, step, false);
      break;
    default:
      read_nodes(in, step);
  }
  read_how(in, step);
  in.finish();
  return step;
}

TaskTrace read_task(TomlReader& reader, const toml::table* table) {
  TomlSection in(reader, table, "[[tasks]]", 0);
  TaskTrace out;
  out.line = static_cast<std::uint32_t>(in.line());
  out.job = in.text("job", "");
  if (out.job.empty()) in.fail("", "it names no job", "write job = \"...\"");
  out.group = in.text("group", out.group);
  out.task = in.integer("task", 0, 0, 100);
  out.index = in.integer("index", -1, 0, 1'000'000);
  out.run = in.integer("run", -1, 0, 1'000'000);
  out.start_delay_ns = seconds(in, "start_delay_s", 0);
  if (in.has("run_s")) out.run_ns = seconds(in, "run_s", 0);
  out.kill_ns = seconds(in, "kill_s", 0);
  out.exit_code = in.integer("exit_code", 0, 0, 255);
  out.start_error = word(in, "start_error", {"recoverable", "fatal"});
  out.health = word(in, "health", {"never", "unhealthy"});
  if (in.has("recovered")) out.recovered = in.boolean("recovered", true);
  if (out.exit_code != 0 && out.run_ns < 0)
    in.fail("exit_code", "a task that never ends has no exit code", "write run_s as well");
  in.finish();
  return out;
}

}  // namespace

const char* to_text(LifeAction action) {
  for (const ActionRow& row : kActions)
    if (row.action == action) return row.word;
  return "?";
}

LifeSpec read_life(TomlReader& reader, TomlSection& root) {
  LifeSpec out;
  TomlSection in(reader, root.table("life"), "[life]", root.line("life"));
  out.duration_ns = seconds(in, "duration_s", 0, 1e-3);
  if (!in.has("duration_s")) in.fail("", "[life] has no 'duration_s'", "write e.g. duration_s = 3600");
  out.start_unix_ns = seconds(in, "start_unix_s", out.start_unix_ns, 1, kLatestStart);
  out.collapsed = in.boolean("collapsed", false);
  out.min_ttl_ns = seconds(in, "min_ttl_s", out.min_ttl_ns, 1e-3);
  out.grace_ns = seconds(in, "grace_s", out.grace_ns);
  out.heartbeats_per_s = in.number("heartbeats_per_s", out.heartbeats_per_s, 1e-3, 1e9);
  out.report_tick_ns = seconds(in, "report_tick_s", out.report_tick_ns);
  out.ticks_per_report = in.integer("ticks_per_report", out.ticks_per_report, 1, 1000);
  if (out.collapsed && in.has("report_tick_s"))
    in.fail("report_tick_s", "'report_tick_s' does not go with collapsed = true", "remove one of the two");
  out.start_ms = in.quantity("start_ms", 0, 0, kMaxAmount);
  out.kill_ms = in.quantity("kill_ms", 0, 0, kMaxAmount);
  out.recovered_percent = in.number("recovered_percent", 100, 0, 100);
  out.gc_interval_ns = seconds(in, "gc_interval_s", out.gc_interval_ns);
  out.eval_age_ns = seconds(in, "eval_age_s", out.eval_age_ns);
  out.batch_eval_age_ns = seconds(in, "batch_eval_age_s", out.batch_eval_age_ns);
  out.job_age_ns = seconds(in, "job_age_s", out.job_age_ns);
  out.deployment_age_ns = seconds(in, "deployment_age_s", out.deployment_age_ns);
  out.node_age_ns = seconds(in, "node_age_s", out.node_age_ns);
  in.finish();
  for (const toml::table* step : root.tables("events"))
    out.steps.push_back(read_step(reader, step, kEvents, out.duration_ns));
  for (const toml::table* step : root.tables("faults"))
    out.steps.push_back(read_step(reader, step, kFaults, out.duration_ns));
  for (const toml::table* task : root.tables("tasks")) out.tasks.push_back(read_task(reader, task));
  std::int64_t times = 0;
  for (const LifeStep& step : out.steps) {
    times += static_cast<std::int64_t>(step.at.size()) + step.times;
    if (step.every_ns > 0) times += (step.until_ns - step.from_ns) / step.every_ns;
    if (times <= kMostTimes) continue;
    reader.fail(step.line, "with this, events and faults happen more than 1,000,000 times",
                "let them happen less often");
    break;
  }
  return out;
}

namespace {

/// Properties of a job that decide which simulation keys it may have.
struct JobTraits {
  bool service = false, system = false, per_node = false;
};

model::UpdateStrategy read_update(TomlSection& at, const JobTraits& job) {
  model::UpdateStrategy u;
  u.stagger = 30'000'000'000;
  u.max_parallel = at.integer("max_parallel", 1, 1, 1'000'000);
  u.health_check = "checks";
  u.canary = at.integer("canary", 0, 0, 1'000'000);
  u.min_healthy_time = seconds(at, "min_healthy_s", 10'000'000'000);
  u.healthy_deadline = seconds(at, "healthy_deadline_s", 300'000'000'000, 1e-3);
  u.progress_deadline = seconds(at, "progress_deadline_s", 600'000'000'000);
  u.auto_revert = at.boolean("auto_revert", false);
  u.auto_promote = at.boolean("auto_promote", false);
  if (!job.service && !job.system) at.fail("", "jobs that end have no roll-outs", "remove 'update'");
  if (u.healthy_deadline <= u.min_healthy_time)
    at.fail("healthy_deadline_s", "'healthy_deadline_s' is not above 'min_healthy_s'", "raise it");
  if (u.progress_deadline != 0 && u.progress_deadline <= u.healthy_deadline)
    at.fail("progress_deadline_s", "'progress_deadline_s' is not above 'healthy_deadline_s'", "raise it, or 0: none");
  if (u.auto_promote && u.canary == 0) at.fail("auto_promote", "'auto_promote' needs canaries", "write canary = 1");
  return u;
}

model::RestartPolicy read_restart(TomlSection& at, const JobTraits& job) {
  model::RestartPolicy r;
  const bool lives = job.service || job.system;
  r.attempts = at.integer("attempts", lives ? 2 : 3, 0, 1'000'000);
  r.interval = seconds(at, "interval_s", (lives ? 1800LL : 86'400LL) * 1'000'000'000, 5);
  r.delay = seconds(at, "delay_s", 15'000'000'000);
  r.mode = at.choice<std::string>("mode", "fail", {{"fail", "fail"}, {"delay", "delay"}});
  return r;
}

model::ReschedulePolicy read_reschedule(TomlSection& at, const JobTraits& job) {
  model::ReschedulePolicy r;
  r.unlimited = at.boolean("unlimited", job.service && !at.has("attempts"));
  r.attempts = at.integer("attempts", job.service ? 0 : 1, 0, 1'000'000);
  r.interval = seconds(at, "interval_s", r.unlimited ? 0 : 86'400'000'000'000);
  r.delay = seconds(at, "delay_s", (job.service ? 30LL : 5LL) * 1'000'000'000, 5);
  r.delay_function =
      at.choice<std::string>("function", job.service ? "exponential" : "constant",
                             {{"constant", "constant"}, {"exponential", "exponential"}, {"fibonacci", "fibonacci"}});
  r.max_delay = seconds(at, "max_delay_s", r.delay_function == "constant" ? 0 : 3'600'000'000'000);
  if (job.per_node) at.fail("", "system jobs are not rescheduled", "remove 'reschedule'");
  return r;
}

model::MigrateStrategy read_migrate(TomlSection& at, const JobTraits& job) {
  model::MigrateStrategy m;
  m.max_parallel = at.integer("max_parallel", 1, 1, 1'000'000);
  m.health_check = "checks";
  m.min_healthy_time = seconds(at, "min_healthy_s", 10'000'000'000);
  m.healthy_deadline = seconds(at, "healthy_deadline_s", 300'000'000'000, 1e-3);
  if (!job.service) at.fail("", "only service jobs migrate one by one", "remove 'migrate'");
  return m;
}

model::DisconnectStrategy read_disconnect(TomlSection& at, const JobTraits&) {
  model::DisconnectStrategy d;
  d.lost_after = seconds(at, "lost_after_s", 0);
  if (at.has("stop_on_client_after_s")) d.stop_on_client_after = seconds(at, "stop_on_client_after_s", 0, 1e-3);
  if (at.has("replace")) d.replace = at.boolean("replace", true);
  d.reconcile = word(at, "reconcile", {"best_score", "keep_original", "keep_replacement", "longest_running"});
  if (d.lost_after > 0 && d.stop_on_client_after)
    at.fail("lost_after_s", "'lost_after_s' does not go with 'stop_on_client_after_s'", "remove one of the two");
  return d;
}

model::PeriodicConfig read_periodic(TomlSection& at, const JobTraits& job) {
  model::PeriodicConfig p;
  p.enabled = true;
  p.spec_type = "cron";
  p.spec = at.text("cron", "");
  p.prohibit_overlap = at.boolean("prohibit_overlap", false);
  p.time_zone = at.text("time_zone", "UTC");
  if (p.spec.empty()) at.fail("", "'cron' is missing", "write cron = \"*/15 * * * *\"");
  if (job.service || job.system) at.fail("", "only batch and sysbatch jobs are periodic", "remove 'periodic'");
  return p;
}

/// Reads when jobs of the kind arrive: once, at a time and under the kind's name, or at a rate.
void read_coming(TomlSection& in, JobLife& out) {
  out.named = in.boolean("named", false);
  if (in.has("at_s")) out.at_ns = seconds(in, "at_s", 0);
  out.rate = curve_of(in, "rate", 1e6);
  if (in.has("at_s") && !out.named) in.fail("at_s", "'at_s' needs named = true", "add it");
  if (out.named)
    for (const char* other : {"rate", "weight", "templates"})
      if (in.has(other))
        in.fail(other, fmt::format("'{}' does not go with named = true", other), "remove one of the two");
  if (!out.rate.empty() && in.has("weight")) in.fail("weight", "'weight' does not go with 'rate'", "remove one");
}

}  // namespace

JobLife read_job_life(TomlReader& reader, TomlSection& in, const std::string& type) {
  JobLife out;
  out.line = static_cast<std::uint32_t>(in.line("at_s"));
  read_coming(in, out);
  const JobTraits job{type == "service", type == "system", type == "system" || type == "sysbatch"};
  const auto part = [&](const char* key, auto& value, auto read) {
    if (!in.has(key)) return;
    TomlSection inner(reader, in.table(key), std::string("[[jobs.mix]].") + key, in.line(key));
    value = read(inner, job);
    inner.finish();
  };
  part("update", out.update, read_update);
  part("restart", out.restart, read_restart);
  part("reschedule", out.reschedule, read_reschedule);
  part("migrate", out.migrate, read_migrate);
  part("disconnect", out.disconnect, read_disconnect);
  part("periodic", out.periodic, read_periodic);
  out.periodic_line = static_cast<std::uint32_t>(in.line("periodic"));
  const bool ends = !job.service && !job.system;
  if (in.boolean("parameterized", false)) {
    out.parameterized.emplace().payload = "optional";
    if (!ends) in.fail("parameterized", "only batch and sysbatch jobs are dispatched", "remove it");
    if (out.periodic) in.fail("parameterized", "'parameterized' does not go with 'periodic'", "remove one of the two");
  }
  if (in.has("kill_timeout_s")) out.kill_timeout_ns = seconds(in, "kill_timeout_s", 0);
  out.shutdown_delay_ns = seconds(in, "shutdown_delay_s", 0);
  out.max_run_ns = seconds(in, "max_run_s", 0);
  if (out.max_run_ns > 0 && !ends) in.fail("max_run_s", "only jobs that end have 'max_run_s'", "remove it");
  return out;
}

}  // namespace berth::sim
