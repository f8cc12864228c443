// The API layer of registration: defaults on the form in which every scalar may be absent (R-MODEL-220 to 231).
#pragma once

#include "base/json.h"

namespace berth::model {

/// Fills what is absent in `job`, whose keys are normalised (api_keys.h). Explicit zeros are kept. Afterwards `job` has
/// the shape of a registered job, without the parts of the server layer.
void fill_api_defaults(json::Value& job);

}  // namespace berth::model
