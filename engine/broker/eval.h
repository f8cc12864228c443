// An evaluation as the broker and the tracker of blocked evaluations see it: rows and numbers, no text.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/rows.h"

namespace berth::broker {

using base::EvalRow;                            ///< position in the caller's table of evaluations; reused after its end
using base::JobKeyRow;                          ///< position in the caller's table of jobs
enum class Token : std::uint64_t { none = 0 };  ///< identifies one delivery of one evaluation; never reused

/// The ready queues: one per scheduler type, in the order of R-CTRL-324, and the one of R-CTRL-337.
enum class Queue : std::uint8_t { service, batch, system, sysbatch, core, failed };
inline constexpr std::uint32_t kQueueCount = 6;
[[nodiscard]] std::string_view queue_name(Queue queue);  ///< "service", ..., "_core", "_failed"

/// A set of queues, one bit each.
using QueueSet = std::uint8_t;
[[nodiscard]] constexpr QueueSet only(Queue queue) { return static_cast<QueueSet>(1u << static_cast<unsigned>(queue)); }
inline constexpr QueueSet kSchedulers = 0b011111;  ///< all types a worker serves (R-CTRL-323)

struct Eval {
  EvalRow row{};
  JobKeyRow job{};
  std::uint32_t job_id = 0;  ///< number of the job ID's text without the namespace, which the ready order ignores
                             ///< (R-CTRL-311)
  std::int32_t priority = 0;
  Queue type = Queue::service;
  std::uint64_t create_index = 0, modify_index = 0;
  std::int64_t wait_ns = 0;        ///< R-CTRL-317; set by a nack to the delay it causes (R-CTRL-339)
  std::int64_t wait_until_ns = 0;  ///< instant; 0 = none
  Token token{};                   ///< set if the evaluation is outstanding while it is enqueued again (R-CTRL-316)
};

}  // namespace berth::broker
