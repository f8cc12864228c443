// The record of a run, as the store has it. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/retained_json.h"
#include "berth/result.h"
#include "sim/changes.h"

namespace berth::store {

enum class RunKind : std::uint8_t {
  run,         ///< of `berth run` and `berth sweep`
  comparison,  ///< of `berth compare --resume`; its detail is what the report shows
  gate,        ///< medians of `berth gate --history`; its parameters are the fingerprint of program and machine
};
[[nodiscard]] const char* kind_name(RunKind kind);

struct Record {
  std::string key;
  std::string workload, label;  ///< the workload's name
  std::vector<sim::Change> changes;
  std::int64_t repetition = 0;
  std::string status =
      "failed";         ///< "ok"; "partial": stopped before its end; "differs": not Nomad's decisions; "failed"
  std::string message;  ///< reason, if not "ok"
  std::string digest;   ///< of its decisions
  std::string commit, build, machine;                   ///< "GNU 12.2.0 Release"; "AMD EPYC, 2 cores, ISA path AVX3"
  double started = 0, seconds = 0;                      ///< unix time; length of set-up and replay
  std::vector<std::pair<std::string, double>> results;  ///< measures of this workload, by name
  RunKind kind = RunKind::run;
  std::string detail = {};  ///< JSON, or ""
  double processor_s = 0;   ///< processor time of set-up and replay; not stored

  [[nodiscard]] double value(const std::string& name) const;  ///< NaN if there is none
  [[nodiscard]] bool counts() const { return status == "ok" || status == "differs"; }
};

/// A key for a run that is to be stored in any case: of the moment, the process and a number, 32 hex digits.
[[nodiscard]] std::string moment_key(std::size_t number);

/// A run's record as text, by which the process of a run hands it to the process that started it.
[[nodiscard]] std::string to_text(const Record& record);
/// Errors name `path`: no JSON, or incomplete.
[[nodiscard]] Result<Record> parse_record(std::string_view text, const std::string& path);

}  // namespace berth::store
