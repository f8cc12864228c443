// The tables of `berth run`'s terminal output, for the page and for `berth report` of one run.
#include <fmt/format.h>

#include "base/text.h"
#include "report/kinds.h"

namespace berth::report {
namespace {

std::string count(const json::Value& value) { return value.is_number() ? shown(value.as_double(), "") : "-"; }
std::string time(const json::Value& value) { return value.is_number() ? shown(value.as_double(), "ns") : "-"; }

double per(const json::Value& whole, const json::Value& parts) {
  return parts.as_double() > 0 ? whole.as_double() / parts.as_double() : kNone;
}

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-"; }

void add_latencies(const json::Value& run, Section& out) {
  Table table{.title = "Latency", .head = {"", "p50", "p90", "p99", "p99.9", "max", "mean"}, .rows = {}};
  const bool grid = run.has("cells");
  for (const auto& [name, key] :
       {std::pair("placement", "latency_ns"), std::pair("queue", "queue_ns"), std::pair("schedule", "schedule_ns"),
        std::pair("commit", "commit_ns"), std::pair("evaluation", "evaluation_latency_ns")}) {
    const json::Value& times = run[key];
    if (!times.is_object() || (grid && std::string_view(name) != "evaluation")) continue;
    std::vector<Cell> row(1, name);
    for (const char* percentile : {"p50", "p90", "p99", "p999", "max", "mean"})
      row.emplace_back(time(times[percentile]));
    table.rows.push_back(std::move(row));
  }
  out.tables.push_back(std::move(table));
}

void add_blocked(const json::Value& run, Section& out) {
  if (run["blocked_evaluations"].as_double() <= 0) return;
  Table table{.title = "Blocked evaluations", .head = {"", "evaluations"}, .rows = {}};
  for (const auto& [name, key] :
       {std::pair("blocked", "blocked_evaluations"), std::pair("run again", "retries"),
        std::pair("blocked again", "blocked_again"), std::pair("still blocked at the end", "blocked_at_end")})
    table.rows.push_back({name, count(run[key])});
  for (const json::Member& cause : run["unblocked"].members())
    if (cause.value.as_double() > 0)
      table.rows.push_back({"unblocked by " + base::shown(cause.key), count(cause.value)});
  out.tables.push_back(std::move(table));
}

void add_packing_table(const json::Value& packing, Section& out) {
  if (!packing.is_object()) return;
  Table table{.title = "Packing",
              .head = {"", "used", "free, and stranded"},
              .rows = {},
              .note = "Stranded: free on nodes that lack another resource for a mean request."};
  for (const auto& [name, used, amount] :
       {std::tuple("cpu", "cpu_utilisation", "cpu_mhz"), std::tuple("memory", "memory_utilisation", "memory_mb"),
        std::tuple("disk", "disk_utilisation", "disk_mb"), std::tuple("devices", "device_utilisation", "devices")})
    table.rows.push_back({name, percent(packing[used].as_double(kNone)),
                          percent(per(packing["stranded"][amount], packing["usable"][amount]))});
  out.tables.push_back(std::move(table));
}

void add_workers(const json::Value& run, Section& out) {
  const json::Value& workers = run["workers"];
  const bool free = run["settings"]["commits"].as_string() == "free";
  if (!workers.is_object() || (!free && run["settings"]["workers"].as_int() < 2)) return;
  Table table{.title = "Workers", .head = {"", "value"}, .rows = {}};
  for (std::size_t i = 0; i < workers["utilisation"].size(); ++i)
    table.rows.push_back({fmt::format("worker {} busy", i + 1), percent(workers["utilisation"][i].as_double(kNone))});
  if (free) {
    table.rows.push_back({"applier busy", percent(workers["applier_utilisation"].as_double(kNone))});
    for (const auto& [name, key] :
         {std::pair("plans", "plans"), std::pair("conflicts", "conflicts"),
          std::pair("partial commits", "partial_commits"), std::pair("retries", "retries"),
          std::pair("evaluations that gave up", "gave_up"), std::pair("exceptions", "exceptions"),
          std::pair("failed plans", "plan_errors"), std::pair("at the delivery limit", "failed"),
          std::pair("still queued", "left"), std::pair("lost", "lost")})
      table.rows.push_back({name, count(workers[key])});
    for (const char* percentile : {"p50", "p99"}) {
      table.rows.push_back(
          {fmt::format("snapshot behind, {}, state indexes", percentile), count(workers["snapshot_age"][percentile])});
      table.rows.push_back(
          {fmt::format("applied after, {}", percentile), time(workers["submit_to_applied_ns"][percentile])});
    }
  } else {
    for (const auto& [name, key] :
         {std::pair("decisions used that were made ahead", "ahead_used"), std::pair("made again", "ahead_redone"),
          std::pair("made in their turn", "ahead_inline")})
      table.rows.push_back({name, count(workers[key])});
  }
  out.tables.push_back(std::move(table));
}

void add_nomad(const json::Value& run, Section& out) {
  Table table{.title = "Compared with Nomad",
              .head = {"kind of job", "evaluations", "Nomad", "berth", "Nomad / berth", "check + apply: Nomad",
                       "berth ", "Nomad / berth "},
              .rows = {}};
  for (const json::Value& kind : run["nomad"].items())
    table.rows.push_back(
        {kind["kind"].as_string(), count(kind["evaluations"]),
         shown(per(kind["nomad_schedule_ns"], kind["evaluations"]), "ns"),
         shown(per(kind["berth_schedule_ns"], kind["evaluations"]), "ns"),
         shown(kind["schedule_ratio"].as_double(kNone), "x"), shown(per(kind["nomad_apply_ns"], kind["placed"]), "ns"),
         shown(per(kind["berth_apply_ns"], kind["placed"]), "ns"), shown(kind["apply_ratio"].as_double(kNone), "x")});
  const json::Value& driven = run["nomad_driven"];
  const bool paced = driven["berth"].as_string() == "arrivals";
  table.note = fmt::format(
      "Schedule per evaluation, check and apply per placement. Nomad{}: back to back, on another machine. berth: {}. "
      "So "
      "a ratio is a hint.",
      driven["nomad_commit"].is_string() ? ", commit " + driven["nomad_commit"].as_string() : "",
      !driven.is_object() ? "as the settings say"
      : paced             ? "waiting for the arrivals of the workload in real time, so with cold caches"
                          : "back to back as well");
  out.tables.push_back(std::move(table));
}

void add_kinds(const json::Value& kinds, Section& out) {
  if (kinds.size() < 2) return;
  const std::string& first = kinds[0]["kind"].as_string();
  Table table{.title = "Kinds of jobs",
              .head = {"kind of job", "evaluations", "placed", "p50", "mean", "p50 relative", "check + apply"},
              .rows = {},
              .note = fmt::format(
                  "Schedule per evaluation, its p50 relative to that of {}; check and apply per placement.", first)};
  for (const json::Value& kind : kinds.items())
    table.rows.push_back({kind["kind"].as_string(), count(kind["evaluations"]), count(kind["placed"]),
                          time(kind["schedule_ns"]["p50"]), time(kind["schedule_ns"]["mean"]),
                          shown(kind["schedule_ratio"].as_double(kNone), "x"),
                          shown(per(kind["apply_ns"], kind["placed"]), "ns")});
  out.tables.push_back(std::move(table));
}

}  // namespace

void add_run_tables(const json::Value& run, Section& out) {
  add_latencies(run, out);
  if (run["nomad"].size() > 0)
    add_nomad(run, out);
  else
    add_kinds(run["kinds"], out);
  add_workers(run, out);
  add_packing_table(run["packing"], out);
  add_blocked(run, out);
}

}  // namespace berth::report
