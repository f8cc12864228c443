// Output of `berth plan` for CI systems: JUnit's XML, and annotations of GitHub's workflows.
#pragma once

#include <string>
#include <vector>

#include "advice/advice.h"
#include "dryrun/where.h"
#include "server/dry_run.h"

namespace berth::dryrun {

/// A finding about a group of a job, or about the whole job.
struct Finding {
  enum class Kind : std::uint8_t {
    fits,
    does_not_fit,    ///< some allocation finds no node, or the applier would refuse it permanently
    with_evictions,  ///< fits only with evictions
    refused,         ///< the job itself is not accepted
  };
  Kind kind = Kind::fits;
  std::string group;   ///< "": the job
  std::string text;    ///< one line
  std::string detail;  ///< more lines; may be empty
};

/// The findings about a job file.
struct JobFindings {
  std::string file, job;
  std::vector<Finding> findings;
};

/// One finding per group of the job, and one for evictions. `stuck`: the applier refuses a part permanently.
[[nodiscard]] JobFindings findings_of(const std::string& file, const model::Job& job,
                                      const server::DryRunAnswer& answer, const Where& where,
                                      const std::vector<advice::GroupAdvice>& advice, bool stuck);
/// The finding for a job file that cannot be planned.
[[nodiscard]] JobFindings refused_job(const std::string& file, const std::string& problem);

/// One test suite per job, one test case per finding. `no_evictions`: evictions are failures too.
[[nodiscard]] std::string to_junit(const std::vector<JobFindings>& jobs, bool no_evictions);
/// Lines `::error file=...::...`, `::warning ...` for groups that do not fit, and for evictions.
[[nodiscard]] std::string to_github(const JobFindings& job, bool no_evictions);

}  // namespace berth::dryrun
