// What a ranking strategy in place of the fit component (R-STRAT-007) compares with: a cluster as it is.
#pragma once

#include <string>
#include <vector>

#include "berth/strategy.h"
#include "tables/state.h"

namespace berth::server {

/// What strategies compare with, and the names of device groups behind NodeState::model. Which models of devices a job
/// accepts is not looked at.
struct Surroundings {
  strategy::Context context;
  std::vector<std::string> models{""};
};
[[nodiscard]] Surroundings surroundings_of(const tables::Snapshot& state);

}  // namespace berth::server
