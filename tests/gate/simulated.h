// Simulated repetitions: reports as `berth run` writes them, with noise from a seed instead of a machine.
#pragma once

#include <cmath>
#include <random>

#include "base/json.h"
#include "gate/metrics.h"
#include "gate/session.h"

namespace berth::gate {

/// Settings of one side of a simulation.
struct SimulatedSide {
  double schedule_factor = 1, commit_factor = 1;  ///< factor on the stage's time
  double rank_factor = 0;                         ///< factor on the time of `rank`; 0: reports have no stages
  double placed = 1000;                           ///< of 1000
  double fragmentation = 0.35;
  double nodes_scored = 26'000, allocations = 114'895;
  std::string digest = "28189347284f1fe1", isa_path = "AVX3", workload_sha256 = "aa";
  bool digest_varies = false, allocations_vary = false;
};

/// Sets a member at a path of names separated by '.', creating objects as needed.
inline void set_at(json::Value& report, std::string_view path, json::Value value) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    report.set(path, std::move(value));
    return;
  }
  const std::string_view name = path.substr(0, dot);
  if (!report.has(name)) report.set(name, json::Value::object());
  set_at(*report.find(name), path.substr(dot + 1), std::move(value));
}

/// A report with every member that a gate reads, of a replay or of a grid with two cells.
inline json::Value whole_report(const Case& what, bool grid = false) {
  json::Value out = json::Value::object();
  for (const auto& [path, value] : {std::pair<const char*, json::Value>{"format", "berth-run"},
                                    {"version", 1},
                                    {"workload", what.workload},
                                    {"label", what.label},
                                    {"partial", false},
                                    {"ended", "complete"},
                                    {"settings.seed", what.seed < 0 ? 1 : what.seed},
                                    {"settings.mode", "sampled"},
                                    {"settings.strategy", "nomad"},
                                    {"settings.algorithm", "binpack"},
                                    {"settings.order", "nomad"},
                                    {"settings.workers", 1},
                                    {"settings.commits", "deterministic"},
                                    {"settings.workload_sha256", "aa"},
                                    {"settings.data_sha256", ""},
                                    {"build.commit", "aaaaaaaaaaaaaaaa"},
                                    {"build.compiler", "GNU 12.2.0"},
                                    {"build.flags", "-O3"},
                                    {"build.sanitize", ""},
                                    {"build.isa_path", "AVX3"},
                                    {"machine.cpu", "Simulated"},
                                    {"machine.cores", 2},
                                    {"decisions_digest", "28189347284f1fe1"},
                                    {"decisions_digest_version", 1}})
    set_at(out, path, value);
  if (grid) out.set("jobs", 2);
  if (grid) out.set("cells", json::Array{json::Value::object(), json::Value::object()});
  for (const Metric& metric : metrics()) {
    if (!is_required(metric, grid)) continue;
    const json::Value value = metric.is_share() ? 0.5 : 1e6;
    constexpr std::string_view kCells = "cells/*/";
    if (metric.path.starts_with(kCells))
      for (json::Value& cell : out.find("cells")->items()) cell.set(metric.path.substr(kCells.size()), value);
    else
      set_at(out, place_of(metric.path), value);
  }
  return out;
}

class Simulation {
 public:
  SimulatedSide base, head;
  double noise = 0.01;      ///< standard deviation of every time of a repetition, as a share
  double disturbed = 0;     ///< share of repetitions during which another process takes half of the machine
  double drift = 0;         ///< slowdown of the machine with every repetition
  double repetition_s = 1;  ///< length of a repetition on the simulated clock
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
    json::Value out = whole_report(what);
    set_at(out, "settings.workers", workers);
    set_at(out, "settings.commits", commits);
    set_at(out, "settings.workload_sha256", side.workload_sha256);
    set_at(out, "build.commit", which == Side::base ? "aaaaaaaaaaaaaaaa" : "bbbbbbbbbbbbbbbb-dirty");
    set_at(out, "build.isa_path", side.isa_path);
    set_at(out, "work.nodes_scored", side.nodes_scored);
    set_at(out, "work.allocations", side.allocations + (side.allocations_vary ? std::floor(5000 * unit()) : 0));
    set_at(out, "packing.fragmentation", side.fragmentation);
    set_at(out, "workers.conflicts", commits == "free" ? std::floor(20 * unit()) : 0);
    out.set("placed", side.placed);
    out.set("placed_share", side.placed / 1000);
    out.set("busy_seconds", (schedule + commit) * 1000 / 1e9);
    out.set("cpu_seconds", (schedule + commit) * 1000 / 1e9 * around_one());
    out.set("peak_rss_bytes", std::floor(2e7 * (1 + 0.002 * unit())));
    out.set("schedule_ns", percentiles(schedule));
    out.set("commit_ns", percentiles(commit));
    out.set("evaluation_latency_ns", percentiles(schedule + commit));
    if (side.rank_factor > 0) {  // half of the time is rank's; order has a hundredth, with five times the noise
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
    double sum = 0;  // 12 uniform numbers: their sum is close to normal, variance 1
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
