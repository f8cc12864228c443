// A deployment counts the health of its allocations equally, whether a report is a row or an API object (R-CTRL-727 to
// 729).
#include "fsm/deployment_counts.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::fsm {
namespace {

std::optional<bool> drawn_health(base::Random& draw) {
  const std::uint64_t what = draw.below(3);
  return what == 0 ? std::nullopt : std::optional<bool>(what == 1);
}

TEST(DeploymentCounts, AgreeWithValuesComputedByHand) {  // R-CTRL-727
  const auto text = [](const HealthCounts& c) {
    return std::to_string(c.placed) + " " + std::to_string(c.healthy) + " " + std::to_string(c.unhealthy);
  };
  EXPECT_EQ(text(health_counts(true, {}, {})), "1 0 0");
  EXPECT_EQ(text(health_counts(true, {}, true)), "1 0 0");  // a placement counts as that only
  EXPECT_EQ(text(health_counts(false, {}, true)), "0 1 0");
  EXPECT_EQ(text(health_counts(false, {}, false)), "0 0 1");
  EXPECT_EQ(text(health_counts(false, true, false)), "0 -1 1");
  EXPECT_TRUE(health_counts(false, false, true).none());  // it does not recover
  EXPECT_TRUE(health_counts(false, true, true).none());
  EXPECT_TRUE(health_counts(false, true, {}).none());
}

TEST(DeploymentCounts, RowsCountAsObjects) {
  std::size_t counts = 0, canaries = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    base::Random draw(seed, "counts");
    model::Deployment by_object;
    by_object.id = "d";
    model::DeploymentState& state = by_object.task_groups["web"].emplace();
    state.progress_deadline = draw.below(2) == 0 ? 0 : 600'000'000'000;
    state.desired_total = 8;
    model::Deployment by_row = by_object;
    std::vector<std::optional<bool>> health(4);
    for (int step = 0; step < 30; ++step) {
      const auto which = static_cast<std::size_t>(draw.below(health.size()));
      const std::int64_t now = std::int64_t{1'000'000'000} * (step + 1);
      model::Allocation before, alloc;
      before.deployment_id = alloc.deployment_id = "d";
      alloc.id = std::to_string(which), alloc.task_group = "web", alloc.modify_time = now;
      const bool canary = which < 2;
      if (health[which] || canary) before.deployment_status.emplace().healthy = health[which];
      const std::optional<bool> said = drawn_health(draw);
      alloc.deployment_status.emplace().canary = canary;
      alloc.deployment_status->healthy = said;
      alloc.deployment_status->timestamp = base::Time{now - 5};
      if (auto changed = counted(by_object, alloc, &before, 7)) {
        by_object = std::move(*changed);
        EXPECT_EQ(alloc.deployment_status->modify_index, 7U);
      }
      if (const HealthCounts count = health_counts(false, health[which], said); !count.none()) {
        by_row.modify_time = now;
        add(count, {canary ? std::string_view(alloc.id) : std::string_view(), now, base::Time{now - 5}},
            *by_row.task_groups["web"]);
        ++counts, canaries += canary;
      }
      ASSERT_EQ(by_row, by_object) << "seed " << seed << ", step " << step;
      if (said) health[which] = said;
    }
  }
  EXPECT_GT(counts, 1000U);
  EXPECT_GT(canaries, 300U);
}

}  // namespace
}  // namespace berth::fsm
