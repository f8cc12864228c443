// How the function files add to the table and report failures; each file is one part of section 15.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hcl/functions.h"

namespace berth::hcl {

using Arguments = std::span<const Value>;
using Functions = std::vector<Function>;

[[nodiscard]] inline tl::unexpected<CallError> fail(std::string text) {
  return tl::unexpected(CallError{CallError::Kind::call, 0, std::move(text)});
}
[[nodiscard]] inline tl::unexpected<CallError> fail_argument(std::size_t argument, std::string text) {
  return tl::unexpected(CallError{CallError::Kind::argument, argument, std::move(text)});
}
/// Converts an outcome: its failure becomes a failure of the call.
[[nodiscard]] inline CallOutcome or_fail(Outcome outcome) {
  if (!outcome) return fail(std::move(outcome.error()));
  return *std::move(outcome);
}

void add_number_functions(Functions& table);
void add_text_functions(Functions& table);
void add_format_functions(Functions& table);
void add_time_functions(Functions& table);
void add_collection_functions(Functions& table);
void add_encoding_functions(Functions& table);
void add_yaml_functions(Functions& table);
void add_secret_functions(Functions& table);
void add_network_functions(Functions& table);
void add_file_functions(Functions& table);

}  // namespace berth::hcl
