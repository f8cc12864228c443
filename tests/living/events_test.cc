// Each event of R-CTRL-E1 to E19 on a few nodes, and that nothing but configuration, seed and events decides.
#include "living/small_world.h"

namespace berth::living {
namespace {

TEST(Living, AJobRunsWhereThereIsRoom) {  // R-CTRL-E1, E8, R-CTRL-1490, 1491
  SmallWorld w(2);
  EXPECT_EQ(w.node_status(1), "ready");
  w.run(small_job("web", "service", 12));
  w.run_for(2);
  EXPECT_EQ(w.running("web"), 12U);
  EXPECT_EQ(w.triggers("web"), "job-register");
}

TEST(Living, ALostNodeIsReplaced) {  // R-CTRL-E2, E3, R-CTRL-1493, 918
  SmallWorld w(2);
  w.run(small_job("web", "service", 4));
  w.run_for(5);
  ASSERT_EQ(w.running("web"), 4U);
  w.apply(NodeUnreachable{node_id(1)});
  w.run_for(60);
  EXPECT_EQ(w.node_status(1), "down");
  EXPECT_EQ(w.running("web"), 4U) << w.show("web");
  for (const AllocRow row : w.allocs("web"))
    EXPECT_EQ(w.state().allocs.node[row] == w.node(1), w.state().allocs.client[row] == tables::Client::lost);
  w.apply(NodeReachable{node_id(1)});
  w.run_for(60);
  EXPECT_EQ(w.node_status(1), "ready");
  EXPECT_EQ(w.running("web"), 4U) << w.show("web");
}

TEST(Living, ABatchJobEnds) {  // R-CTRL-1710
  SmallWorld w(1);
  w.run(small_job("work", "batch", 3));
  w.apply(TaskOutcome{.name_space = "default", .job_id = "work", .alloc_index = 1, .outcome = {.run_ns = 5 * kSecond}});
  w.run_for(10);
  EXPECT_EQ(w.running("work"), 2U) << w.show("work");
  w.run_for(60);
  EXPECT_EQ(w.show("work"), "run complete@1, run complete@1, run complete@1");
}

}  // namespace
}  // namespace berth::living
