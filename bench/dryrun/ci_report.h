// What `berth plan` says to a CI system: JUnit's XML, and annotations of GitHub's workflows.
#pragma once

#include <string>
#include <vector>

#include "advice/advice.h"
#include "dryrun/where.h"
#include "server/dry_run.h"

namespace berth::dryrun {

/// One statement about a group of a job, or about the whole job.
struct Finding {
  enum class Kind : std::uint8_t {
    fits,
    does_not_fit,    ///< some allocation finds no node, or the applier would refuse it for good
    with_evictions,  ///< fits, and others have to go
    refused,         ///< the job itself is not accepted
  };
  Kind kind = Kind::fits;
  std::string group;   ///< "": the job
  std::string text;    ///< one line
  std::string detail;  ///< more lines; may be empty
};

/// What is said of one job file.
struct JobFindings {
  std::string file, job;
  std::vector<Finding> findings;
};

/// One finding for each group of the job, and one more for evictions. `stuck`: the applier refuses a part for good.
[[nodiscard]] JobFindings findings_of(const std::string& file, const model::Job& job,
                                      const server::DryRunAnswer& answer, const Where& where,
                                      const std::vector<advice::GroupAdvice>& advice, bool stuck);
/// Of a job file that cannot be planned.
[[nodiscard]] JobFindings refused_job(const std::string& file, const std::string& problem);

/// One test suite for each job, one test case for each finding. `no_evictions`: evictions are failures, too.
[[nodiscard]] std::string to_junit(const std::vector<JobFindings>& jobs, bool no_evictions);
/// Lines `::error file=...::...`, `::warning ...` of what does not fit, and of evictions.
[[nodiscard]] std::string to_github(const JobFindings& job, bool no_evictions);

}  // namespace berth::dryrun
