// What requests are called inside a server, for its metrics (R-STORE-440, 441, 456): `GET /v1/jobs` is a call of the
// endpoint `job` that lists, and its time is a sample of `nomad.nomad.job.list`.
#pragma once

#include <string_view>

#include "serve/serve.h"
#include "serve/telemetry.h"

namespace berth::serve {

/// Counts a call that took so long.
void note_call(Telemetry& telemetry, const Route& route, std::string_view method, double milliseconds);

}  // namespace berth::serve
