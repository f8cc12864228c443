// Runs a test body once per instruction set that this build contains and this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace berth::rank {

template <class Body>
void on_every_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    SCOPED_TRACE(hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace berth::rank
