#include "sim/kind_check.h"

#include <algorithm>

#include "model/job.h"
#include "model/periodic/cron.h"
#include "model/registration/validate_job.h"
#include "sim/job_generator.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kDrawn = 8;  // checked templates per kind

/// The first of Nomad's error messages, which may be a list over several lines, as one line.
std::string first_of(const model::ErrorList& errors) {
  std::string out;
  for (const char c : errors.items().front()) {
    const bool space = static_cast<unsigned char>(c) <= 0x20;
    if (!space || (!out.empty() && out.back() != ' ')) out += space ? ' ' : c;
  }
  return out.substr(0, 300);
}

}  // namespace

std::optional<InputError> refused_kind(const Workload& workload) {
  const auto at = [&](std::uint32_t line, std::string problem, std::string remedy) {
    return InputError{workload.path, line == 0 ? "" : std::to_string(line), std::move(problem), std::move(remedy)};
  };
  for (const JobKindSpec& kind : workload.jobs.kinds) {
    if (const auto& periodic = kind.life.periodic) {
      const auto cron = model::parse_cron(periodic->spec);
      if (!cron)
        return at(kind.life.periodic_line, "'cron' cannot be read: " + cron.error(), "write e.g. \"*/15 * * * *\"");
      if (!model::is_time_zone(periodic->time_zone))
        return at(kind.life.periodic_line, "there is no time zone '" + periodic->time_zone.substr(0, 60) + "'",
                  "write e.g. \"Europe/Vienna\"");
      if (workload.life && model::next_launch(*periodic, base::Time{workload.life->start_unix_ns}).is_zero())
        return at(kind.life.periodic_line, "'cron' never comes after the start", "write e.g. \"*/15 * * * *\"");
    }
    JobsSpec drawn;
    drawn.kinds = {kind};
    drawn.kinds.front().templates = std::min(kind.templates, kDrawn);
    for (const auto& drawn_job : generate_jobs(drawn, workload.seed).templates) {
      model::Job job = *drawn_job;
      for (model::TaskGroup& group : job.task_groups)  // workloads do not set logs, which must fit on the disk
        if (group.ephemeral_disk) group.ephemeral_disk->size_mb = kMaxAmount;
      if (const model::ErrorList errors = model::validate(job); !errors.empty())
        return at(kind.line, "Nomad refuses jobs of the kind '" + kind.name + "': " + first_of(errors),
                  "correct the kind");
    }
  }
  return std::nullopt;
}

}  // namespace berth::sim
