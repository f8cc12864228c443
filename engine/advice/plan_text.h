// Text of a dry run like Nomad's `job plan` (R-SCHED-200 to 202, R-PREEMPT-1002).
//
// Indentation, padding and blank lines follow recorded outputs. Lines that Nomad prints in the order of a map are
// sorted here (R-SCHED-201).
#pragma once

#include <string>

#include "server/dry_run.h"

namespace berth::advice {

struct TextOptions {
  std::string job_file;        ///< for the hint how to submit
  bool verbose = false;        ///< added and deleted jobs, groups and tasks are expanded
  bool diff = true;            ///< print the difference
  std::int64_t now_ns = 0;     ///< for the time left until the next launch
  std::size_t id_length = 36;  ///< characters of allocation IDs (R-SEED-90)
};

/// The whole output. `type`: of the job.
[[nodiscard]] std::string to_text(const server::DryRunAnswer& answer, const std::string& type,
                                  const TextOptions& options);

/// The answer in the form of the plan endpoint.
[[nodiscard]] json::Value to_json(const server::DryRunAnswer& answer);

/// Parts of the text.
[[nodiscard]] std::string diff_text(const json::Value& diff, bool verbose);
[[nodiscard]] std::string failures_text(const std::map<std::string, model::AllocMetric>& failed,
                                        const std::string& type);
[[nodiscard]] std::string preemptions_text(const json::Value& preempted, std::size_t id_length);

/// "web", or "web@NAMESPACE" outside the default namespace.
[[nodiscard]] std::string job_text(const std::string& id, const std::string& name_space);

}  // namespace berth::advice
