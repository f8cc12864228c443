#include "dryrun/ci_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "advice/advice_text.h"
#include "advice/plan_text.h"
#include "model/job.h"
#include "run/junit.h"

namespace berth::dryrun {
namespace {

/// Escapes text of a workflow command; `property`: for the part before `::`.
std::string workflow(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

bool is_failure(Finding::Kind kind, bool no_evictions) {
  return kind == Finding::Kind::does_not_fit || kind == Finding::Kind::refused ||
         (kind == Finding::Kind::with_evictions && no_evictions);
}

const char* type_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::does_not_fit:
      return "does-not-fit";
    case Finding::Kind::with_evictions:
      return "evictions";
    default:
      return "refused";
  }
}

std::string name_of(const Finding& finding) {
  if (!finding.group.empty()) return "group " + finding.group;
  return finding.kind == Finding::Kind::with_evictions ? "evictions" : "job";
}

const char* plural(std::size_t count) { return count == 1 ? "" : "s"; }

}  // namespace

JobFindings findings_of(const std::string& file, const model::Job& job, const server::DryRunAnswer& answer,
                        const Where& where, const std::vector<advice::GroupAdvice>& advice, bool stuck) {
  JobFindings out{file, job.id, {}};
  std::unordered_map<std::string_view, std::size_t> placed_by_group;
  for (const PlacedAlloc& one : where.placed) ++placed_by_group[one.group];
  for (const model::TaskGroup& group : job.task_groups) {
    Finding finding;
    finding.group = group.name;
    const auto failed = answer.failed.find(group.name);
    const auto advised = std::find_if(advice.begin(), advice.end(),
                                      [&](const advice::GroupAdvice& one) { return one.group == group.name; });
    const auto counted = placed_by_group.find(group.name);
    const std::size_t placed = counted == placed_by_group.end() ? 0 : counted->second;
    if (failed != answer.failed.end()) {
      const auto missing = static_cast<std::size_t>(failed->second.coalesced_failures) + 1;
      finding.kind = Finding::Kind::does_not_fit;
      finding.text = fmt::format("no node for {} allocation{} of group {}", missing, plural(missing), group.name);
      finding.detail = advice::failures_text({*failed}, job.type);
    } else if (stuck && advised != advice.end() && advised->refused > 0) {
      finding.kind = Finding::Kind::does_not_fit;
      finding.text = fmt::format("the plan applier would refuse {} allocation{} of group {}", advised->refused,
                                 plural(static_cast<std::size_t>(advised->refused)), group.name);
    } else {
      finding.text = fmt::format("{} allocation{} placed", placed, plural(placed));
    }
    if (finding.kind != Finding::Kind::fits && advised != advice.end()) finding.detail += advice::to_text({*advised});
    out.findings.push_back(std::move(finding));
  }
  if (stuck && std::none_of(out.findings.begin(), out.findings.end(),
                            [](const Finding& finding) { return finding.kind == Finding::Kind::does_not_fit; }))
    out.findings.push_back({Finding::Kind::does_not_fit, "", "the plan applier would refuse a part of the plan", ""});
  if (!where.evicted.empty()) {
    Finding finding{Finding::Kind::with_evictions, "", "", ""};
    finding.text = fmt::format("{} allocation{} would be evicted", where.evicted.size(), plural(where.evicted.size()));
    for (const EvictedAlloc& evicted : where.evicted)
      finding.detail += fmt::format("{} of job {} on {}\n", evicted.name, evicted.job_id, evicted.node_name);
    out.findings.push_back(std::move(finding));
  }
  return out;
}

JobFindings refused_job(const std::string& file, const std::string& problem) {
  return {file, file, {{Finding::Kind::refused, "", problem, ""}}};
}

std::string to_junit(const std::vector<JobFindings>& jobs, bool no_evictions) {
  std::vector<run::JunitSuite> suites;
  for (const JobFindings& job : jobs) {
    run::JunitSuite suite{job.job, {}};
    for (const Finding& finding : job.findings) {
      const bool failed = is_failure(finding.kind, no_evictions);
      suite.cases.push_back({job.job, name_of(finding), job.file,
                             failed ? run::JunitCase::Outcome::failed : run::JunitCase::Outcome::passed,
                             type_of(finding.kind), finding.text, finding.detail});
    }
    suites.push_back(std::move(suite));
  }
  return run::to_junit("berth plan", suites);
}

std::string to_github(const JobFindings& job, bool no_evictions) {
  std::string out;
  for (const Finding& finding : job.findings) {
    if (finding.kind == Finding::Kind::fits) continue;
    const char* level = is_failure(finding.kind, no_evictions) ? "error" : "warning";
    std::string text = finding.text;
    if (!finding.detail.empty()) text += "\n" + finding.detail;
    while (text.ends_with('\n')) text.pop_back();
    out += fmt::format("::{} file={},title=berth plan: {}::{}\n", level, workflow(job.file, true),
                       workflow(job.job, true), workflow(text, false));
  }
  return out;
}

}  // namespace berth::dryrun
