// Turns the JSON of a job file or of a registration request into the job as it would be stored (R-MODEL-220 to 259, 620
// to 623). For the steps, see validate_job.h, job_canonical.h and api_defaults.h.
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
  Options options;                                     ///< only R-SEED-70 matters here
  /// Makes IDs for proxy tasks whose name another task has (R-REG-26). Empty: IDs are derived from the job.
  std::function<std::string()> new_id;
  bool over_http = false;  ///< as a server does: a stored job that is submitted again is validated like any other
};

struct Registration {
  std::shared_ptr<Job> job;           ///< null when rejected
  std::string error;                  ///< Nomad's text, "" when accepted
  std::vector<std::string> errors;    ///< entries of that text if it is a list (R-REG-5)
  std::vector<std::string> warnings;  ///< remarks on an accepted job
  bool registered_form = false;       ///< came with its indexes and was not validated (R-MODEL-621)
  bool creates_eval = false;          ///< neither periodic nor parameterized (R-MODEL-270)
  Options options;                    ///< of the request; decisions about the job use them
};

/// Accepts {"Job": {...}} and the bare object. An InputError means that the JSON is not a job at all (wrong types, not
/// an object). A job that the rules refuse is returned with `error` set.
[[nodiscard]] Result<Registration> register_job(const json::Value& input, const RegistrationRequest& request = {});

/// Applies registration to a stored version that becomes the newest one again (R-REG-7). It is not validated again:
/// recorded reverts restore versions that no validator ever checked. Returns Nomad's error text, or "".
[[nodiscard]] std::string submit_again(Job& job, const RegistrationRequest& request = {});

/// True if the bare job object is in the registered form (R-MODEL-621).
[[nodiscard]] bool is_registered_form(const json::Value& job);

/// Status of a job at its first registration (R-MODEL-278 without evaluations and allocations).
[[nodiscard]] std::string initial_status(const Job& job);

}  // namespace berth::model
