// Observes a simulated cluster and fills a LifeResult: wanted allocations that did not run, hits of faults and recovery
// times, losses, evaluations by trigger and, for a small cluster, a log of events.
//
// A running allocation counts as in the servers' state, except that allocations on a lost machine stop counting at that
// moment. A fault's hits are the allocations of service and batch jobs that run on its nodes when it begins. Each is
// recovered when it, or its replacement, runs again. Hits that run until kAftermathS after the end of their fault are
// unharmed, and a later fault may hit them.
//
//   Seen      16 bytes per allocation row    its last seen state
//   JobRow    96 bytes per job row           wanted, running, integrals
// Threads: the run's; attempt() also those that decide ahead.
#pragma once

#include <tsl/robin_map.h>

#include <functional>
#include <map>
#include <unordered_map>

#include "base/bit_hash.h"
#include "base/chunked.h"
#include "base/log_line.h"
#include "living/living.h"
#include "run/life_result.h"
#include "run/measuring.h"
#include "sim/inputs.h"
#include "sim/life_plan.h"

namespace berth::run {

class LifeWatch final : public living::Listener {
 public:
  LifeWatch(const sim::Workload& workload, const sim::Inputs& inputs, const sim::LifePlan& plan, Measuring& measuring,
            sim::RunClock& clock, LifeResult& result);
  void bind(living::Cluster& cluster) { cluster_ = &cluster; }
  /// RunOptions::log.
  void log_to(std::function<void(const base::LogLine&)> log) { log_ = std::move(log); }

  // --- called by the driver ---
  /// An event on these nodes is about to happen. A fault hits what runs there now.
  void happened(const sim::Happening& happening, std::span<const tables::NodeRow> nodes, const std::string& words);
  void refused(const std::string& words, const std::string& error);
  /// The clock has reached another bucket.
  void tick();
  void finish();

  // --- living::Listener ---
  void lane_made(server::Lane& lane) override { measuring_.lane_made(lane); }
  void attempt(server::Lane& lane) override;
  void waiting(server::Lane& lane) override;
  void decided(server::Lane& lane) override { measuring_.decided(lane); }
  void applying(server::Lane& lane) override { measuring_.applying(lane); }
  void applied(server::Lane& lane) override;
  void settled(server::Lane& lane) override { measuring_.settled(lane); }
  void failed(const server::EvalRecord& record, std::string_view why) override { measuring_.failed(record, why); }
  void evaluation_decided(const living::DecidedEval& eval) override;
  void evaluation_over() override;
  void alloc_changed(const living::AllocChange& change) override;
  void alloc_expected(tables::AllocRow row) override;
  void node_changed(const living::NodeChange& change) override;
  void job_changed(tables::JobKeyRow job) override;
  void deployment_ended(const model::Deployment& deployment) override;
  void drain_ended(const living::DrainEnd& drain) override;

 private:
  static constexpr std::uint32_t kNoKind = ~0u;
  struct Seen {
    /// Start of its run; 0: it does not run; below 0: minus the length of a batch run that ended without success.
    std::int64_t run = 0;
    tables::JobKeyRow job = tables::kNoRow;
    bool counted = false, live = false;
    [[nodiscard]] bool runs() const { return run > 0; }
    /// Ends the run without success. Returns its seconds.
    double lose(std::int64_t now) {
      run -= now;
      return lost_s();
    }
    [[nodiscard]] double lost_s() const { return run < 0 ? static_cast<double>(-run) / 1e9 : 0; }
  };
  struct JobRow {
    std::uint32_t kind = kNoKind;
    bool there = false, per_node = false, batch = false;
    std::int64_t wanted = 0, open = 0, running = 0, live = 0, completed = 0, missing = 0, worst = 0;
    std::int64_t since_ns = 0;
    double missing_ns = 0, wanted_ns = 0;
  };
  /// Servers notice a client's absence by its next heartbeat, which 20,000 nodes send every 400 s.
  static constexpr double kAftermathS = 600;
  struct Hit {
    std::uint32_t fault = 0;
    std::int64_t at_ns = 0;
    bool harmed = false;
    std::uint64_t name = 0;  ///< of the allocation; the row may be reused before it is looked up by name
  };

  void begin_turn();
  [[nodiscard]] double seconds(std::int64_t at) const { return static_cast<double>(at - start_ns_) / 1e9; }
  [[nodiscard]] std::int64_t now() const { return cluster_->now(); }
  [[nodiscard]] const tables::Snapshot& state() const { return cluster_->state(); }
  Seen& seen(tables::AllocRow row);
  JobRow& job_row(tables::JobKeyRow key);
  [[nodiscard]] std::uint32_t kind_of(const model::Job& job) const;
  void settle(JobRow& job);
  void reckon(JobRow& job);
  void fold(tables::JobKeyRow key);
  void flow_to(std::int64_t at);
  [[nodiscard]] std::size_t bucket_at(std::int64_t at) const;
  void set_running(Seen& alloc, JobRow& job, bool runs);
  void hit(tables::NodeRow node, const sim::Happening& happening);
  [[nodiscard]] std::uint64_t name_of(tables::AllocRow row) const {
    return static_cast<std::uint64_t>(state().allocs.job_key[row]) << 32 | state().allocs.name_index[row];
  }
  /// Null if the allocation is no hit. A hit whose fault ended kAftermathS ago is first counted as unharmed and erased.
  Hit* hit_of(tables::AllocRow row);
  void forget_hit(tables::AllocRow row);
  void follow_hit(tables::AllocRow row, bool runs, bool ended);
  [[nodiscard]] tables::AllocRow previous_of(tables::AllocRow row) const;
  void record_event(const std::string& subject, std::string what, const std::string& where = "");
  [[nodiscard]] std::string alloc_text(tables::AllocRow row) const;
  [[nodiscard]] std::string node_text(tables::NodeRow row) const;
  void record_alloc(const living::AllocChange& change);
  void find_storms();
  /// 0: the first hour, 1: the last one; -1: neither.
  [[nodiscard]] int compared_hour() const;

  const sim::Workload& workload_;
  const sim::LifePlan& plan_;
  Measuring& measuring_;
  sim::RunClock& clock_;
  LifeResult& result_;
  living::Cluster* cluster_ = nullptr;
  std::function<void(const base::LogLine&)> log_;
  const std::int64_t start_ns_, bucket_ns_;
  const bool records_events_;                             // small enough for a log of events
  std::unordered_map<std::string, std::uint32_t> kinds_;  // by job ID
  base::Chunked<Seen> allocs_;
  std::vector<JobRow> jobs_;
  tsl::robin_map<tables::AllocRow, Hit> hits_;
  tsl::robin_map<std::uint64_t, tables::AllocRow, base::BitHash>
      hit_names_;                                          // (job, name index): finds replacements without a link
  std::multimap<std::int64_t, tables::AllocRow> returns_;  // when clients of lost tasks return
  std::int64_t flowed_to_, wanted_ = 0, missing_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> causes_;  // possible causes of storms
  std::vector<Outage> outages_;
  // Cost of evaluations in the first and the last hour.
  std::int64_t began_cpu_ns_ = -1;  // start of the present one; -1: none is timed
  EvaluationCost* cost_ = nullptr;  // its entry, once it is decided
  std::map<std::pair<std::string, std::uint64_t>, EvaluationCost> costs_;
  std::uint64_t messages_ = 0;  // from clients, until the last tick
};

}  // namespace berth::run
