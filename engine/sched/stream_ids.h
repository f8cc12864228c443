// New IDs for the reconcilers, drawn from the evaluation's stream.
#pragma once

#include <string>

#include "base/uuid.h"
#include "reconcile/cluster.h"
#include "sched/evaluation.h"

namespace berth::sched {

class StreamIds final : public reconcile::IdSource {
 public:
  explicit StreamIds(IdStream& ids) : ids_(ids) {}
  std::string next_eval_id() override { return base::to_text(ids_.next()); }
  std::string next_deployment_id() override { return base::to_text(ids_.next()); }

 private:
  IdStream& ids_;
};

}  // namespace berth::sched
