// Maps requests to a server's internal calls, for its metrics (R-STORE-440, 441, 456): `GET /v1/jobs` is a list call of
// the endpoint `job`, and its time is a sample of `nomad.nomad.job.list`.
#pragma once

#include <string_view>

#include "http/endpoint.h"
#include "http/telemetry.h"

namespace berth::http {

/// Counts a call with its duration.
void note_call(Telemetry& telemetry, const Route& route, std::string_view method, double milliseconds);

}  // namespace berth::http
