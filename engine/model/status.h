// Statuses of allocations and types of jobs as one byte each, for columns and hot loops; the model keeps the texts
// (R-MODEL-25, 26).
#pragma once

#include <cstdint>
#include <string_view>

namespace berth::model {

/// The status that the server wants. Any text that is not listed is `other`, the empty text is `none`.
enum class DesiredStatus : std::uint8_t { none, run, stop, evict, other };

/// The status that the client reports. Any text that is not listed is `other`, the empty text is `none`.
enum class ClientStatus : std::uint8_t { none, pending, running, complete, failed, lost, unknown, other };

[[nodiscard]] constexpr DesiredStatus parse_desired_status(std::string_view text) {
  if (text == "run") return DesiredStatus::run;
  if (text == "stop") return DesiredStatus::stop;
  if (text == "evict") return DesiredStatus::evict;
  return text.empty() ? DesiredStatus::none : DesiredStatus::other;
}

[[nodiscard]] constexpr ClientStatus parse_client_status(std::string_view text) {
  if (text == "running") return ClientStatus::running;
  if (text == "pending") return ClientStatus::pending;
  if (text == "complete") return ClientStatus::complete;
  if (text == "failed") return ClientStatus::failed;
  if (text == "lost") return ClientStatus::lost;
  if (text == "unknown") return ClientStatus::unknown;
  return text.empty() ? ClientStatus::none : ClientStatus::other;
}

/// Server terminal (R-MODEL-300): the server wants it stopped, whatever the client does.
[[nodiscard]] constexpr bool is_server_terminal(DesiredStatus status) {
  return status == DesiredStatus::stop || status == DesiredStatus::evict;
}

/// Client terminal (R-MODEL-300): the client is done. `unknown` is not terminal. Only client-terminal allocations free
/// resources (R-RANK-503).
[[nodiscard]] constexpr bool is_client_terminal(ClientStatus status) {
  return status == ClientStatus::complete || status == ClientStatus::failed || status == ClientStatus::lost;
}

/// The type of a job; any text that is not listed is `service`.
enum class JobType : std::uint8_t { service, batch, system, sysbatch };

[[nodiscard]] constexpr JobType parse_job_type(std::string_view text) {
  if (text == "batch") return JobType::batch;
  if (text == "system") return JobType::system;
  return text == "sysbatch" ? JobType::sysbatch : JobType::service;
}

/// True if the job has an allocation on every node that suits it.
[[nodiscard]] constexpr bool is_of_system(JobType type) { return type >= JobType::system; }
/// True if the job's tasks end by themselves.
[[nodiscard]] constexpr bool is_of_batch(JobType type) { return type == JobType::batch || type == JobType::sysbatch; }

}  // namespace berth::model
