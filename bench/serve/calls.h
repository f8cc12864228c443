// Maps requests to a server's internal calls, for its metrics (R-STORE-440, 441, 456): `GET /v1/jobs` is a list call of
// the endpoint `job`, and its time is a sample of `nomad.nomad.job.list`.
#pragma once

#include <string_view>

#include "serve/serve.h"
#include "serve/telemetry.h"

namespace berth::serve {

/// Counts a call with its duration.
void note_call(Telemetry& telemetry, const Route& route, std::string_view method, double milliseconds);

}  // namespace berth::serve
