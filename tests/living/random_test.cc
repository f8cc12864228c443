// Random lives: events drawn from a seed happen to a small cluster. No invariant is broken at any step, and the same
// seed gives the same decisions and the same log.
#include "living/small_world.h"

namespace berth::living {
namespace {

class RandomWorld : public SmallWorld {
 public:
  explicit RandomWorld(std::uint64_t seed, bool check, std::uint32_t workers = 1)
      : SmallWorld(6, config_of(seed, check, workers)), draw_(seed, "events") {}

  void live(int steps) {
    for (int step = 0; step < steps && cluster.problems().empty(); ++step) {
      happen();
      run_for(static_cast<double>(draw_.below(20'000)) / 1000);
    }
    run_for(600);
  }

 private:
  static Config config_of(std::uint64_t seed, bool check, std::uint32_t workers) {
    Config config = small_config(seed);
    config.check = check;
    config.server.workers = workers;
    static const client::SeededModel model = [] {
      client::SeededModel out;
      out.start_delay_ns = kSecond / 2, out.kill_ns = kSecond, out.batch_run_ns = 40 * kSecond;
      out.failure_probability = 0.2, out.crash_probability = 0.1, out.start_failure_probability = 0.1;
      out.loss_probability = 0.5;
      return out;
    }();
    config.tasks = model.model();
    return config;
  }
  std::uint64_t any_node() { return 1 + draw_.below(8); }
  std::string any_job() { return "j" + std::to_string(draw_.below(6)); }
  std::shared_ptr<model::Job> draw_job() {
    static const char* const kTypes[] = {"service", "service", "batch", "system", "sysbatch", "service"};
    const std::uint64_t number = draw_.below(6);
    const std::string type = kTypes[number];
    std::string group;
    if (type == "service" && draw_.below(2) == 0)
      group =
          R"("Update":{"MaxParallel":2,"MinHealthyTime":3000000000,"HealthyDeadline":60000000000,"ProgressDeadline":90000000000)" +
          std::string(draw_.below(2) == 0 ? R"(,"Canary":1,"AutoPromote":true,"AutoRevert":true})" : "}");
    if (type == "service" && draw_.below(2) == 0) {
      if (!group.empty()) group += ',';
      group += draw_.below(2) == 0 ? R"("Disconnect":{"LostAfter":120000000000,"Reconcile":"keep_original"})"
                                   : R"("Disconnect":{"StopOnClientAfter":20000000000})";
    }
    const int count = type == "system" ? 1 : 1 + static_cast<int>(draw_.below(12));
    return small_job("j" + std::to_string(number), type, count, group,
                     fmt::format(R"("Priority":{})", 10 + 20 * draw_.below(5)),
                     50 + 50 * static_cast<int>(draw_.below(3)));
  }
  /// A node joins or gets another label. It never shrinks: what it runs would not fit any more (R-CTRL-1720).
  void change_node() {
    model::Node node = small_node(any_node());
    node.meta["label"] = std::to_string(draw_.below(3));
    tell(NodeRegister{node});
  }
  /// One event; those that cannot be at the moment are refused.
  void happen() {
    const std::string node = node_id(any_node());
    switch (draw_.below(16)) {
      case 0:
        return change_node();
      case 1:
        return tell(NodeUnreachable{node});
      case 2:
      case 3:
        return tell(NodeReachable{node});
      case 4:
        return tell(ClientRestart{node, static_cast<std::int64_t>(draw_.below(40)) * kSecond,
                                  static_cast<client::Recovery>(draw_.below(3))});
      case 5:
        if (draw_.below(3) == 0) tell(NodeDeregister{{node}, draw_.below(2) == 0});
        return;
      case 6:
        return tell(NodeEligibility{node, draw_.below(3) > 0});
      case 7:
        return tell(NodeDrain{.node_id = node,
                              .clear = draw_.below(3) == 0,
                              .deadline = static_cast<std::int64_t>(draw_.below(3)) * 30 * kSecond - 30 * kSecond,
                              .ignore_system_jobs = draw_.below(2) == 0,
                              .mark_eligible = draw_.below(2) == 0});
      case 8:
        return tell(JobDeregister{.name_space = "default", .job_id = any_job(), .purge = draw_.below(3) == 0});
      case 9:
        return tell(JobScale{"default", any_job(), "g", static_cast<std::int64_t>(draw_.below(14))});
      case 10:
        return tell(JobEvaluate{"default", any_job(), draw_.below(2) == 0});
      case 11: {
        const auto rows = allocs(any_job());
        if (!rows.empty()) tell(AllocStop{alloc_id(rows[draw_.below(rows.size())]), draw_.below(2) == 0});
        return;
      }
      case 12: {
        SetSchedulerConfig event;
        event.configuration.scheduler_algorithm = draw_.below(2) == 0 ? "binpack" : "spread";
        event.configuration.preemption_config.service_scheduler_enabled = draw_.below(2) == 0;
        event.configuration.preemption_config.system_scheduler_enabled = true;
        event.configuration.pause_eval_broker = draw_.below(8) == 0;
        return tell(event);
      }
      case 13:
        if (draw_.below(4) == 0) tell(LeaderChange{static_cast<std::int64_t>(draw_.below(20)) * kSecond});
        return;
      default:
        return tell(JobRegister{draw_job()});
    }
  }
  void tell(const Event& event) { static_cast<void>(cluster.apply(event)); }

  base::Random draw_;
};

TEST(RandomLife, BreaksNoInvariant) {  // R-CTRL-1720 to 1735
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    RandomWorld w(seed, true);
    w.live(40);
    ASSERT_EQ(w.cluster.problems(), std::vector<std::string>()) << "seed " << seed;
  }
}

TEST(RandomLife, IsTheSameForTheSameSeedWhateverTheNumberOfWorkers) {  // section 17.1
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::uint64_t first = 0;
    for (const std::uint32_t workers : {1U, 4U}) {
      RandomWorld w(seed, false, workers);
      w.live(60);
      if (workers == 1)
        first = w.cluster.digest();
      else
        EXPECT_EQ(w.cluster.digest(), first) << "seed " << seed;
    }
    digests.insert(first);
  }
  EXPECT_EQ(digests.size(), 10U);
}

}  // namespace
}  // namespace berth::living
