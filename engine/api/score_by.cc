// Replaces the fit component of a Cluster's scheduling by a ranking strategy (R-STRAT-007).
#include <utility>

#include "api/impl.h"
#include "server/surroundings.h"

namespace berth {

Result<void> Cluster::score_by(std::string_view strategy) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.input_error());
  if (strategy == "nomad") {
    impl_->ranker.reset(), impl_->models.clear();
    impl_->use_fit(impl_->server.lane());
    return {};
  }
  auto made = server::scoring_strategy(strategy, impl_->store().current());
  if (!made) return tl::unexpected(made.error());
  impl_->ranker = std::move(made->ranker), impl_->models = std::move(made->models);
  impl_->use_fit(impl_->server.lane());
  return {};
}

void Cluster::Impl::use_fit(server::Lane& lane) const {
  if (ranker)
    lane.scratch.strategy_fit.use(ranker->fit(), models);
  else
    lane.scratch.strategy_fit.use({});
}

}  // namespace berth
