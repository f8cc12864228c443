#include "client/restart.h"

#include "model/job.h"

namespace berth::client {

std::string to_text(RestartReason reason, const RestartPolicy& policy) {
  switch (reason) {
    case RestartReason::none:
      break;
    case RestartReason::no_restarts:
      return "Policy allows no restarts";
    case RestartReason::unrecoverable:
      return "Error was unrecoverable";
    case RestartReason::unnecessary:
      return "Restart unnecessary as task terminated successfully";
    case RestartReason::exceeded:
      return "Exceeded allowed attempts " + std::to_string(policy.attempts) + " in interval " +
             base::duration_text(policy.interval_ns) + " and mode is \"fail\"";
    case RestartReason::exceeded_delay:
      return "Exceeded allowed attempts, applying a delay";
    case RestartReason::within_policy:
      return "Restart within policy";
  }
  return "";
}

}  // namespace berth::client
