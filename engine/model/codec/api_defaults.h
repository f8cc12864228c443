// The API layer of registration: defaults on the form in which every scalar may be absent (R-MODEL-220 to 231).
#pragma once

#include "base/json.h"

namespace berth::model {

/// Fills what is absent in `job`, whose keys are normalised (api_keys.h). Explicit zeros are kept. Afterwards `job` has
/// the shape of a registered job, without the parts of the server layer. `keep_job_blocks`: update, reschedule, migrate
/// and the Consul namespace stay at the job as well, as in the API's own form (R-API-220).
void fill_api_defaults(json::Value& job, bool keep_job_blocks = false);

}  // namespace berth::model
