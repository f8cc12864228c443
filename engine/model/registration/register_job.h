// A job as input: from the JSON of a job file or of a registration request to the job as it would be stored
// (R-MODEL-220 to 259, 620 to 623). Read validate_job.h, job_canonical.h and api_defaults.h for the steps.
#pragma once

#include <functional>

#include "berth/result.h"
#include "model/options.h"
#include "model/registration/validate_job.h"

namespace berth::model {

struct RegistrationRequest {
  std::string path = "-";          ///< file named in errors
  std::string region, name_space;  ///< query parameters or fields of the request, "" = not given (R-MODEL-222)
  RegistrationLimits limits;
  const std::vector<Namespace>* namespaces = nullptr;  ///< when set, the namespace must be one of them
  const std::vector<NodePool>* pools = nullptr;        ///< when set, the pool must be one of them or built in
  const Job* stored = nullptr;                         ///< current version, if there is one (R-MODEL-258)
  Options options;                                     ///< R-SEED-70 counts here
  /// IDs for proxy tasks whose name another task has (R-REG-26); none: one that follows from the job.
  std::function<std::string()> new_id;
  bool over_http = false;  ///< as a server takes it: a stored job that is sent again is validated like any other
};

struct Registration {
  std::shared_ptr<Job> job;           ///< null when rejected
  std::string error;                  ///< Nomad's text, "" when accepted
  std::vector<std::string> errors;    ///< entries of that text where it is a list (R-REG-5)
  std::vector<std::string> warnings;  ///< remarks on an accepted job
  bool registered_form = false;       ///< came with its indexes and was not validated (R-MODEL-621)
  bool creates_eval = false;          ///< neither periodic nor parameterized (R-MODEL-270)
  Options options;                    ///< of the request; what is decided about the job is decided with them
};

/// Accepts {"Job": {...}} and the bare object. An InputError means that the JSON is not a job at all (mistyped, not an
/// object); a job that the rules refuse comes back with `error` set.
[[nodiscard]] Result<Registration> register_job(const json::Value& input, const RegistrationRequest& request = {});

/// What registration makes of a stored version that becomes a new one (R-REG-7). It was validated when it was new, and
/// is not again: the recorded reverts take versions that no validator saw. Returns Nomad's text where it cannot be
/// made.
[[nodiscard]] std::string submit_again(Job& job, const RegistrationRequest& request = {});

/// Whether the bare job object is in the registered form (R-MODEL-621).
[[nodiscard]] bool is_registered_form(const json::Value& job);

/// Status of a job at its first registration (R-MODEL-278 without evaluations and allocations).
[[nodiscard]] std::string initial_status(const Job& job);

}  // namespace berth::model
