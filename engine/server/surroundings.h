// Input of a ranking strategy that replaces the fit component (R-STRAT-007): the cluster it compares with.
#pragma once

#include <string>
#include <vector>

#include "berth/strategy.h"
#include "tables/state.h"

namespace berth::server {

/// The cluster that strategies compare with, and the device group names behind NodeState::model. Does not consider
/// which device models a job accepts.
struct Surroundings {
  strategy::Context context;
  std::vector<std::string> models{""};
};
[[nodiscard]] Surroundings surroundings_of(const tables::Snapshot& state);

}  // namespace berth::server
