// Lines of a log about events of a simulated cluster: allocations, nodes, deployments, drains. `berth serve` and
// `berth run` write the same ones.
#pragma once

#include <optional>

#include "base/log_line.h"
#include "living/listener.h"

namespace berth::living {

/// True if a node has this status because it missed its heartbeats.
[[nodiscard]] bool missed_heartbeat(tables::NodeStatus status);

/// Each line has the time `now_ns`. nullopt: the change is not worth a line. `state` is that after the change.
[[nodiscard]] std::optional<base::LogLine> log_line(const tables::Snapshot& state, std::int64_t now_ns,
                                                    const AllocChange& change);
[[nodiscard]] std::optional<base::LogLine> log_line(const tables::Snapshot& state, std::int64_t now_ns,
                                                    const NodeChange& change);
[[nodiscard]] base::LogLine log_line(std::int64_t now_ns, const model::Deployment& ended);
[[nodiscard]] base::LogLine log_line(const tables::Snapshot& state, std::int64_t now_ns, const DrainEnd& end);

}  // namespace berth::living
