// A world of made-up repetitions: reports as `berth run` writes them, with noise from a seed instead of a machine.
#pragma once

#include <cmath>
#include <random>

#include "gate/session.h"

namespace berth::gate {

/// What one side of a simulation is like.
struct SimulatedSide {
  double schedule_factor = 1, commit_factor = 1;  ///< on the time of the stage
  double rank_factor = 0;                         ///< on that of rank; 0: reports have no stages
  double placed = 1000;                           ///< of 1000
  double fragmentation = 0.35;
  double nodes_scored = 26'000, allocations = 114'895;
  std::string digest = "28189347284f1fe1", isa_path = "AVX3", workload_sha256 = "aa";
  bool digest_varies = false, allocations_vary = false;
};

class Simulation {
 public:
  SimulatedSide base, head;
  double noise = 0.01;      ///< standard deviation of every time of a repetition, as a share
  double disturbed = 0;     ///< share of repetitions during which another process takes half of the machine
  double drift = 0;         ///< how much slower the machine is with every repetition
  double repetition_s = 1;  ///< how long one takes on the simulated clock
  std::int64_t workers = 1;
  std::string commits = "deterministic";

  explicit Simulation(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] World world() {
    World out;
    out.measure = [this](const Case& what, Side side) -> Outcome<json::Value> { return report(what, side); };
    out.elapsed_seconds = [this] { return now_s_; };
    return out;
  }

  json::Value report(const Case& what, Side which) {
    const SimulatedSide& side = which == Side::base ? base : head;
    now_s_ += repetition_s;
    ++repetitions_;
    const double machine = (unit() < disturbed ? 1 + unit() : 1) * (1 + drift * repetitions_);
    const double schedule = 250e3 * side.schedule_factor * machine * around_one();
    const double commit = 150e3 * side.commit_factor * machine * around_one();
    json::Value settings = json::Value::object();
    settings.set("seed", what.seed < 0 ? 1 : what.seed);
    settings.set("workers", workers);
    settings.set("commits", commits);
    settings.set("workload_sha256", side.workload_sha256);
    json::Value build = json::Value::object();
    build.set("commit", which == Side::base ? "aaaaaaaaaaaaaaaa" : "bbbbbbbbbbbbbbbb-dirty");
    build.set("compiler", "GNU 12.2.0");
    build.set("isa_path", side.isa_path);
    json::Value machine_value = json::Value::object();
    machine_value.set("cpu", "Simulated");
    machine_value.set("cores", 2);
    json::Value work = json::Value::object();
    work.set("nodes_scored", side.nodes_scored);
    work.set("allocations", side.allocations + (side.allocations_vary ? std::floor(5000 * unit()) : 0));
    json::Value packing = json::Value::object();
    packing.set("cpu_utilisation", 0.37);
    packing.set("fragmentation", side.fragmentation);
    json::Value workers_value = json::Value::object();
    workers_value.set("conflicts", commits == "free" ? std::floor(20 * unit()) : 0);

    json::Value out = json::Value::object();
    out.set("format", "berth-run");
    out.set("version", 1);
    out.set("workload", what.workload);
    out.set("label", what.label);
    out.set("partial", false);
    out.set("settings", std::move(settings));
    out.set("build", std::move(build));
    out.set("machine", std::move(machine_value));
    out.set("work", std::move(work));
    out.set("packing", std::move(packing));
    out.set("workers", std::move(workers_value));
    out.set("placed", side.placed);
    out.set("placed_share", side.placed / 1000);
    out.set("busy_seconds", (schedule + commit) * 1000 / 1e9);
    out.set("cpu_seconds", (schedule + commit) * 1000 / 1e9 * around_one());
    out.set("peak_rss_bytes", std::floor(2e7 * (1 + 0.002 * unit())));
    out.set("schedule_ns", percentiles(schedule));
    out.set("commit_ns", percentiles(commit));
    out.set("evaluation_latency_ns", percentiles(schedule + commit));
    if (side.rank_factor > 0) {  // half of the time is rank's, a hundredth order's, whose noise is five times as large
      json::Value stages = json::Value::object();
      stages.set("order", 4e3 * std::pow(around_one(), 5));
      stages.set("filter", 96e3 * machine * around_one());
      stages.set("rank", 200e3 * side.rank_factor * machine * around_one());
      stages.set("commit", 100e3 * machine * around_one());
      out.set("stages_ns", std::move(stages));
    }
    out.set("decisions_digest", side.digest_varies ? std::to_string(repetitions_) : side.digest);
    return out;
  }

  [[nodiscard]] int repetitions() const { return repetitions_; }

 private:
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double around_one() {
    double sum = 0;  // of 12 uniform numbers: close to normal, variance 1
    for (int i = 0; i < 12; ++i) sum += unit();
    return std::exp(noise * (sum - 6));
  }
  json::Value percentiles(double mean) {
    json::Value out = json::Value::object();
    out.set("p50", std::floor(0.8 * mean * around_one()));
    out.set("p99", std::floor(5 * mean * around_one() * around_one()));
    out.set("mean", mean);
    return out;
  }

  std::mt19937_64 random_;
  int repetitions_ = 0;
  double now_s_ = 0;
};

inline const std::vector<Case> kOneCase = {{"quickstart", "smoke", -1}};

}  // namespace berth::gate
