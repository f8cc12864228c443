// Adds missing members to a job's blocks, as a Nomad server prints them: zero texts, numbers and booleans, null for
// absent lists, maps and blocks.
#pragma once

#include "base/json.h"

namespace berth::http {

/// Services, Connect, checks, templates, artifacts, identities, secrets, Vault and Consul blocks of a job.
void fill_job_blocks(json::Value& job);

}  // namespace berth::http
