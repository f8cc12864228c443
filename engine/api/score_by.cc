// Replaces the fit component of a Cluster's scheduling by a ranking strategy (R-STRAT-007).
#include <utility>

#include "api/impl.h"
#include "server/lane.h"
#include "server/surroundings.h"

namespace berth {

Result<void> Cluster::score_by(std::string_view strategy) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.input_error());
  if (strategy == "nomad") {
    impl_->strategy = {};
  } else {
    auto made = server::scoring_strategy(strategy, impl_->store().current());
    if (!made) return tl::unexpected(made.error());
    impl_->strategy = std::move(*made);
  }
  impl_->strategy.use_in(impl_->server.lane().scratch.strategy_fit);
  return {};
}

}  // namespace berth
