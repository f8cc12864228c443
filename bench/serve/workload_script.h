// What a workload has happen in a served cluster: the life that its file describes (run/life_player.h), or, without
// one, its jobs as they arrive and leave. Threads: the simulation's.
#pragma once

#include <functional>
#include <memory>

#include "berth/result.h"
#include "client/drivers.h"
#include "serve/simulation.h"
#include "sim/inputs.h"

namespace berth::serve {

class WorkloadScript : public Script {
 public:
  /// Virtual time begins here; `drivers` decide what tasks of other jobs than the workload's do.
  virtual void begin(std::int64_t start_ns, const client::DriverDefaults& drivers) = 0;
  /// What tasks do; refers to this.
  [[nodiscard]] virtual client::TaskModel model() const = 0;
};

/// `complete` fills in what the workload's nodes that join later do not say.
[[nodiscard]] Result<std::shared_ptr<WorkloadScript>> make_workload_script(sim::Workload workload, sim::Inputs inputs,
                                                                           std::function<void(model::Node&)> complete);

}  // namespace berth::serve
