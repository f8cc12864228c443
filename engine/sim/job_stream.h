// The jobs of a run as templates and arrivals. Jobs of one template differ only in their ID and times.
//
//   templates    whole jobs in registered form; the ID is a stem
//   arrivals     in order of due_ns, ties in order of number: template, number, due time, run time (40 bytes)
//
// A job's ID and name are "<template's ID>-<number>", unless the template stands for one job only. An arrival may be a
// new version of a job that arrived before.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/result.h"
#include "model/resources.h"

namespace berth::sim {

inline constexpr std::int64_t kNeverEnds = -1;

struct JobArrival {
  std::int64_t due_ns = 0;                ///< registration, counted from the start of the run
  std::int64_t run_time_ns = kNeverEnds;  ///< from the placement of an allocation to its end
  std::uint32_t template_index = 0;
  std::uint32_t number = 0;   ///< unique within the stream
  std::uint32_t version = 0;  ///< of the job
  std::uint32_t renews = 0;   ///< if version > 0: number of the arrival that registered the job
  bool fails = false;         ///< its allocations end as failed, not complete
};

/// The time by which a job that arrived at `arrived_ns` should have ended, at most INT64_MAX.
[[nodiscard]] constexpr std::int64_t deadline_at(std::int64_t arrived_ns, std::int64_t after_ns) {
  return after_ns > INT64_MAX - arrived_ns ? INT64_MAX : arrived_ns + after_ns;
}

struct JobStream {
  std::vector<std::shared_ptr<const model::Job>> templates;
  std::vector<bool> single;  ///< per template: it is for one job, whose ID has no number
  std::vector<JobArrival> arrivals;
  std::vector<std::string> kinds;      ///< names of the kinds of a mix; empty: not a mix
  std::vector<std::uint32_t> kind_of;  ///< by template, if there are kinds
  std::vector<std::int64_t> from_ns;   ///< by kind: added to due times; empty: nothing
  /// By template: the time from the arrival by which the job should have ended, 0: none. Empty: no job has one.
  std::vector<std::int64_t> deadline_ns;
  std::vector<bool> gangs;  ///< by template (model/gang.h); empty: no job is one
  [[nodiscard]] bool is_gang(const JobArrival& arrival) const {
    return !gangs.empty() && gangs[arrival.template_index];
  }
  [[nodiscard]] std::int64_t deadline_of(const JobArrival& arrival) const {
    return deadline_ns.empty() ? 0 : deadline_ns[arrival.template_index];
  }

  /// The arriving job: a copy of the template with its own ID. A gang has the time of its arrival, from which its
  /// timeout counts.
  [[nodiscard]] std::shared_ptr<const model::Job> job(const JobArrival& arrival) const;
};

/// Reads the keys of the templates' meta that are Berth's: deadlines (strategy::kDeadlineKey), gangs. `path`: for
/// errors.
[[nodiscard]] Result<void> read_meta(const std::string& path, JobStream& jobs);

}  // namespace berth::sim
