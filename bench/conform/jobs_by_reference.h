// `{"base": "job_bases/X", "edits": {pointer: value}}` in component vectors (FORMAT-components.md, "Jobs by
// reference").
#pragma once

#include "berth/result.h"
#include "conform/vector.h"

namespace berth::conform {

/// A complete job, or one by reference to a record of job_bases.jsonl(.gz) in the folder of `vector_path`, with edits.
[[nodiscard]] Result<json::Value> resolve_job(const Field& job, const std::string& vector_path);

/// Applies edits {JSON pointer: value, null removes}; pointers into lists that do not exist yet append.
void apply_edits(json::Value& target, const json::Value& edits);

}  // namespace berth::conform
