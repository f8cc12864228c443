// Payloads of log entries that garbage collection writes (R-CTRL-734, 742, 1407 to 1413).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/rows.h"

namespace berth::fsm {

/// Current rows: an entry is applied as soon as it is made.
struct EvalDeleteEntry {
  std::vector<base::AllocRow> allocs;
  std::vector<base::StoredEvalRow> evals;
};

struct DeploymentDeleteEntry {
  std::vector<std::string> deployments;
};

/// Purges jobs, each a (namespace, ID); no evaluations are created and no hook runs (R-CTRL-203).
struct JobBatchDeregisterEntry {
  std::vector<std::pair<std::string, std::string>> jobs;
};

}  // namespace berth::fsm
