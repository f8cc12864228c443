#include "run/life_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/report.h"

namespace berth::run {
namespace {

constexpr std::size_t kRows = 12;     // of a table in the text
constexpr std::size_t kPoints = 360;  // of a series in JSON

double share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// "1:02:03.4", to a tenth of a second.
std::string clock_text(double at_s) {
  const auto tenths = static_cast<std::int64_t>(std::llround(at_s * 10));
  const std::int64_t s = tenths / 10;
  return fmt::format("{}:{:02}:{:02}.{}", s / 3600, s / 60 % 60, s % 60, tenths % 10);
}

std::string counts_words(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  std::string out;
  for (const auto& [name, number] : counts)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, grouped(number));
  return out;
}

/// Longest recoveries first; faults without hits last.
std::vector<const FaultResult*> by_recovery(const LifeResult& life) {
  std::vector<const FaultResult*> out;
  for (const FaultResult& fault : life.faults) out.push_back(&fault);
  const auto longest = [](const FaultResult& fault) {
    return fault.recovery_ns.empty() ? 0 : *std::max_element(fault.recovery_ns.begin(), fault.recovery_ns.end());
  };
  std::stable_sort(out.begin(), out.end(), [&](const FaultResult* a, const FaultResult* b) {
    if (a->away != b->away) return a->away > b->away;
    return longest(*a) > longest(*b);
  });
  return out;
}

void fault_rows(const LifeResult& life, std::string& out) {
  if (life.faults.empty()) return;
  out += fmt::format("\n  {:<40} {:>9} {:>6} {:>6} {:>12} {:>9} {:>9} {:>14}\n", "fault", "at", "nodes", "hit",
                     "recovery p50", "p99", "max", "not recovered");
  auto faults = by_recovery(life);
  const std::size_t left = faults.size() > kRows ? faults.size() - kRows : 0;
  faults.resize(faults.size() - left);
  std::stable_sort(faults.begin(), faults.end(),
                   [](const FaultResult* a, const FaultResult* b) { return a->at_s < b->at_s; });
  for (const FaultResult* fault : faults) {
    const sim::Histogram recovery = fault->recovery();
    const auto time = [&](double percent) {
      return fault->recovered == 0 ? std::string("-") : time_words(recovery.percentile(percent));
    };
    out += fmt::format("  {:<40} {:>9} {:>6} {:>6} {:>12} {:>9} {:>9} {:>14}\n", fault->what.substr(0, 40),
                       clock_text(fault->at_s), grouped(fault->nodes), grouped(fault->hit), time(50), time(99),
                       time(100), grouped(fault->away));
  }
  if (left > 0) out += fmt::format("  and {} that recovered sooner\n", grouped(left));
  if (life.recovery_ns.count() > 0)
    out += fmt::format("  recovery    p50 {}, p90 {}, p99 {}, max {} over {} allocations of all faults\n",
                       time_words(life.recovery_ns.percentile(50)), time_words(life.recovery_ns.percentile(90)),
                       time_words(life.recovery_ns.percentile(99)), time_words(life.recovery_ns.max()),
                       grouped(life.recovery_ns.count()));
}

void outage_rows(const char* title, const std::vector<Outage>& outages, std::string& out) {
  if (outages.empty()) return;
  out += fmt::format("\n  {:<24} {:>8} {:>16} {:>16} {:>9} {:>13} {:>7}\n", title, "jobs", "wanted alloc s",
                     "missing alloc s", "share", "most at once", "at end");
  for (std::size_t i = 0; i < std::min(kRows, outages.size()); ++i) {
    const Outage& o = outages[i];
    out += fmt::format("  {:<24} {:>8} {:>16.0f} {:>16.1f} {:>8.3f}% {:>13} {:>7}\n", o.name.substr(0, 24),
                       grouped(o.jobs), o.wanted_s, o.missing_s, 100 * share(o.missing_s, o.wanted_s), o.worst,
                       o.missing_at_end);
  }
}

std::string where_words(const std::vector<std::string>& where) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, where.size()); ++i) out += (i == 0 ? " " : ", ") + where[i];
  if (where.size() > 4) out += fmt::format(" and {} more", where.size() - 4);
  return out;
}

json::Value outages_json(const std::vector<Outage>& outages) {
  json::Value out = json::Value::array();
  for (const Outage& o : outages) {
    json::Value one = json::Value::object();
    one.set("name", o.name);
    one.set("jobs", o.jobs);
    one.set("wanted_alloc_seconds", o.wanted_s);
    one.set("missing_alloc_seconds", o.missing_s);
    one.set("missing_worst", o.worst);
    one.set("missing_at_end", o.missing_at_end);
    out.push(std::move(one));
  }
  return out;
}

/// Compared evaluations by trigger and job type, summed over all sizes, the ones that took longest in the last hour
/// first.
std::vector<EvaluationCost> kinds_of_evaluations(const LifeResult& life) {
  std::vector<EvaluationCost> out;
  for (const EvaluationCost& cost : life.costs) {
    const auto same = [&](const EvaluationCost& other) { return other.what == cost.what; };
    auto at = std::find_if(out.begin(), out.end(), same);
    if (at == out.end()) out.push_back({.what = cost.what}), at = out.end() - 1;
    at->first += cost.first, at->last += cost.last;
    at->first_s += cost.first_s, at->last_s += cost.last_s;
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.last_s > b.last_s; });
  return out;
}

void rate_rows(const LifeResult& life, std::string& out) {
  const LifeResult::Alike alike = life.alike();
  if (alike.rate > 0)
    out += fmt::format(
        "  rate        in the last hour {:.2f} times that of comparable evaluations in the first, by processor time\n",
        alike.rate);
  const auto us = [](std::uint64_t count, double seconds) {
    return count == 0 ? std::string("-") : fmt::format("{:.1f} us", seconds * 1e6 / static_cast<double>(count));
  };
  out += fmt::format("\n  {:<32} {:>10} {:>10} {:>11} {:>11} {:>9} {:>6}\n", "evaluations by trigger", "first hour",
                     "last hour", "mean first", "mean last", "compared", "rate");
  for (const EvaluationCost& kind : kinds_of_evaluations(life)) {
    const LifeResult::Alike of_kind = life.alike(kind.what);
    out += fmt::format("  {:<32} {:>10} {:>10} {:>11} {:>11} {:>9} {:>6}\n", kind.what.substr(0, 32),
                       grouped(kind.first), grouped(kind.last), us(kind.first, kind.first_s),
                       us(kind.last, kind.last_s), kind.last == 0 ? "-" : fmt::format("{:.0f} %", 100 * of_kind.share),
                       of_kind.rate > 0 ? fmt::format("{:.2f}", of_kind.rate) : "-");
  }
  out += fmt::format("  everything else: {:.1f} us per client message in the first hour, {:.1f} us in the last\n\n",
                     alike.rest_first_us, alike.rest_last_us);
}

json::Value rates_json(const LifeResult& life) {
  json::Value out = json::Value::object();
  out.set("first_hour", life.evaluations_per_cpu_s(0, LifeResult::kHour));
  out.set("last_hour", life.evaluations_per_cpu_s(life.duration_s - LifeResult::kHour, life.duration_s));
  const LifeResult::Alike alike = life.alike();
  out.set("like_for_like", alike.rate > 0 ? json::Value(alike.rate) : json::Value());
  out.set("share_with_like", alike.share);
  out.set("rest_us_per_message_first_hour", alike.rest_first_us);
  out.set("rest_us_per_message_last_hour", alike.rest_last_us);
  json::Value kinds = json::Value::array();
  for (const EvaluationCost& cost : life.costs) {
    json::Value one = json::Value::object();
    one.set("what", cost.what), one.set("placements", cost.placements);
    one.set("first_hour", cost.first), one.set("first_hour_seconds", cost.first_s);
    one.set("last_hour", cost.last), one.set("last_hour_seconds", cost.last_s);
    kinds.push(std::move(one));
  }
  out.set("evaluations", std::move(kinds));
  return out;
}

json::Value counts_json(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  json::Value out = json::Value::object();
  for (const auto& [name, number] : counts) out.set(name, number);
  return out;
}

/// Merges neighbouring buckets until there are at most kPoints.
json::Value series_json(const LifeResult& life) {
  json::Value seconds = json::Value::array(), wanted = json::Value::array(), missing = json::Value::array(),
              evaluations = json::Value::array(), placed = json::Value::array(), cpu = json::Value::array(),
              memory = json::Value::array();
  const auto used = std::min(life.wanted.size(), static_cast<std::size_t>(std::ceil(life.reached_s / life.bucket_s)));
  const std::size_t step = std::max<std::size_t>(1, (used + kPoints - 1) / kPoints);
  for (std::size_t b = 0; b < used; b += step) {
    const std::size_t end = std::min(used, b + step);
    double w = 0, m = 0, t = 0;
    std::uint64_t e = 0, p = 0;
    for (std::size_t i = b; i < end; ++i)
      w += life.wanted[i], m += life.missing[i], e += life.evaluations[i], p += life.placed[i], t += life.cpu_s[i];
    const auto buckets = static_cast<double>(end - b);
    seconds.push(static_cast<double>(b) * life.bucket_s);
    wanted.push(std::round(w / buckets * 100) / 100), missing.push(std::round(m / buckets * 100) / 100);
    evaluations.push(e), placed.push(p), cpu.push(t);
    const std::size_t known = std::min(end, life.memory_bytes.size());
    memory.push(known == 0 ? std::uint64_t{0} : life.memory_bytes[known - 1]);
  }
  json::Value out = json::Value::object();
  out.set("seconds", std::move(seconds));
  out.set("wanted", std::move(wanted)), out.set("missing", std::move(missing));
  out.set("evaluations", std::move(evaluations)), out.set("placed", std::move(placed));
  out.set("cpu_seconds", std::move(cpu)), out.set("memory_bytes", std::move(memory));
  return out;
}

}  // namespace

std::string life_text(const LifeResult& life) {
  std::string out;
  if (!life.story.empty()) {
    out += "\n  events\n";
    double before = -1;
    for (const StoryLine& line : life.story) {
      out += fmt::format("  {:>11}  {}{}{}{}\n", line.at_s == before ? "" : clock_text(line.at_s), line.subject,
                         line.subject.empty() ? "" : " ", line.what, where_words(line.where));
      before = line.at_s;
    }
    if (life.story_cut) out += "               and so on\n";
  }
  out += fmt::format("\n  simulated   {} of {}: {} events, {} faults", clock_text(life.reached_s),
                     clock_text(life.duration_s), grouped(life.events), grouped(life.faults.size()));
  out += life.refused_count > 0 ? fmt::format("; {} events refused\n", grouped(life.refused_count)) : "\n";
  for (const std::string& line : life.refused) out += fmt::format("    refused   {}\n", line);
  out += fmt::format("  allocations {} placed, {} done, {} failed, {} lost, {} evicted\n", grouped(life.allocs),
                     grouped(life.completed), grouped(life.failed), grouped(life.lost), grouped(life.evicted));
  out += fmt::format("  evaluations {}\n", counts_words(life.triggers));
  if (life.has_hours()) rate_rows(life, out);
  out += fmt::format("  clients     {} heartbeats, {} pulls, {} requests with {} reports\n", grouped(life.heartbeats),
                     grouped(life.pulls), grouped(life.requests), grouped(life.reports));
  if (life.lost_runs > 0)
    out += fmt::format("  work        {} batch runs lost with {:.1f} alloc s, of which {:.1f} are repeated\n",
                       grouped(life.lost_runs), life.lost_s, life.repeated_s);
  if (!life.deployments_by_status.empty())
    out += fmt::format("  deployments {}\n", counts_words(life.deployments_by_status));
  if (life.drains_completed + life.drains_ended > 0)
    out += fmt::format("  drains      {} complete, {} called off; p50 {}, max {}\n", grouped(life.drains_completed),
                       grouped(life.drains_ended), time_words(life.drain_ns.percentile(50)),
                       time_words(life.drain_ns.max()));
  if (!life.storms.empty()) {
    out += fmt::format("  storms      {} times more than 10 times the usual {:.2f} evaluations/s\n", life.storms.size(),
                       life.base_rate);
    auto storms = life.storms;
    std::stable_sort(storms.begin(), storms.end(),
                     [](const Storm& a, const Storm& b) { return a.evaluations > b.evaluations; });
    storms.resize(std::min<std::size_t>(storms.size(), 5));
    for (const Storm& storm : storms)
      out += fmt::format("    {:>9} {} evaluations in {:.0f} s, {:.0f} times the usual{}\n", clock_text(storm.from_s),
                         grouped(storm.evaluations), storm.until_s - storm.from_s, storm.times_base,
                         storm.after.empty() ? "" : ", after " + storm.after);
  }
  fault_rows(life, out);
  outage_rows("kind of job", life.kinds, out);
  if (life.story.empty()) outage_rows("jobs that missed most", life.worst_jobs, out);
  return out;
}

json::Value life_json(const LifeResult& life) {
  json::Value out = json::Value::object();
  out.set("duration_seconds", life.duration_s);
  out.set("reached_seconds", life.reached_s);
  out.set("events", life.events);
  out.set("events_refused", life.refused_count);
  json::Value allocs = json::Value::object();
  allocs.set("placed", life.allocs), allocs.set("done", life.completed), allocs.set("failed", life.failed);
  allocs.set("lost", life.lost), allocs.set("evicted", life.evicted);
  out.set("allocations", std::move(allocs));
  out.set("evaluations_by_trigger", counts_json(life.triggers));
  out.set("recovery_ns", percentiles(life.recovery_ns));
  json::Value faults = json::Value::array();
  for (const FaultResult& fault : life.faults) {
    json::Value one = json::Value::object();
    one.set("what", fault.what);
    one.set("at_seconds", fault.at_s);
    one.set("until_seconds", fault.until_s < 0 ? json::Value() : json::Value(fault.until_s));
    one.set("nodes", fault.nodes), one.set("hit", fault.hit), one.set("unharmed", fault.unharmed);
    one.set("recovered", fault.recovered), one.set("ended", fault.ended), one.set("away", fault.away);
    one.set("recovery_ns", percentiles(fault.recovery()));
    faults.push(std::move(one));
  }
  out.set("faults", std::move(faults));
  out.set("unavailability_by_kind", outages_json(life.kinds));
  out.set("unavailability_worst_jobs", outages_json(life.worst_jobs));
  json::Value work = json::Value::object();
  work.set("lost_runs", life.lost_runs);
  work.set("lost_alloc_seconds", life.lost_s), work.set("repeated_alloc_seconds", life.repeated_s);
  out.set("batch_work", std::move(work));
  out.set("deployments_by_status", counts_json(life.deployments_by_status));
  json::Value deployments = json::Value::array();
  for (const DeploymentResult& d : life.deployments) {
    json::Value one = json::Value::object();
    one.set("job", d.job), one.set("version", d.version);
    one.set("status", d.status), one.set("description", d.description);
    one.set("at_seconds", d.at_s), one.set("seconds", d.length_s);
    deployments.push(std::move(one));
  }
  out.set("deployments", std::move(deployments));
  json::Value drains = json::Value::object();
  drains.set("complete", life.drains_completed), drains.set("called_off", life.drains_ended);
  drains.set("length_ns", percentiles(life.drain_ns));
  out.set("drains", std::move(drains));
  json::Value storms = json::Value::array();
  for (const Storm& storm : life.storms) {
    json::Value one = json::Value::object();
    one.set("from_seconds", storm.from_s), one.set("until_seconds", storm.until_s);
    one.set("evaluations", storm.evaluations), one.set("times_base", storm.times_base);
    one.set("after", storm.after);
    storms.push(std::move(one));
  }
  out.set("storms", std::move(storms));
  out.set("base_evaluations_per_second", life.base_rate);
  json::Value clients = json::Value::object();
  clients.set("heartbeats", life.heartbeats), clients.set("pulls", life.pulls);
  clients.set("requests", life.requests), clients.set("reports", life.reports);
  out.set("clients", std::move(clients));
  out.set("evaluations_per_second_of_work", rates_json(life));
  const std::uint64_t settled = life.memory_when_settled();
  out.set("memory_bytes_after_two_hours", settled > 0 ? json::Value(settled) : json::Value());
  out.set("over_time", series_json(life));
  json::Value story = json::Value::array();
  for (const StoryLine& line : life.story) {
    json::Value one = json::Value::object();
    one.set("at_seconds", line.at_s);
    one.set("what", (line.subject.empty() ? "" : line.subject + " ") + line.what + where_words(line.where));
    story.push(std::move(one));
  }
  out.set("story", std::move(story));
  return out;
}

}  // namespace berth::run
