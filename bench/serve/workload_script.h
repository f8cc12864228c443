// Plays a workload in a served cluster: its [life] (run/life_player.h) or, without one, the arrivals and departures of
// its jobs. Threads: the simulation's.
#pragma once

#include <functional>
#include <memory>

#include "berth/result.h"
#include "client/drivers.h"
#include "http/simulation.h"
#include "sim/inputs.h"

namespace berth::serve {

class WorkloadScript : public http::Script {
 public:
  /// `start_ns`: initial virtual time. `drivers`: behaviour of tasks of jobs outside the workload.
  virtual void begin(std::int64_t start_ns, const client::DriverDefaults& drivers) = 0;
  /// Behaviour of tasks. Refers to this object.
  [[nodiscard]] virtual client::TaskModel model() const = 0;
};

/// `complete` adds missing values to the workload's nodes that join later.
[[nodiscard]] Result<std::shared_ptr<WorkloadScript>> make_workload_script(sim::Workload workload, sim::Inputs inputs,
                                                                           std::function<void(model::Node&)> complete);

}  // namespace berth::serve
