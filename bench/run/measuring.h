// Measures a run's server: latencies, counts, samples of the cluster, the digest of the decisions, and records for an
// observer. It never changes what the server does.
//
// Times are read on the run's clock, which advances while berth works; a simulation's virtual clock does not.
// Threads: attempt() and decided() on the lane's thread; everything else one call at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/digest.h"
#include "base/row_map.h"
#include "run/cluster_samples.h"
#include "run/hdr_log.h"
#include "run/observer.h"
#include "server/lane.h"
#include "server/server.h"
#include "sim/arrivals.h"
#include "sim/inputs.h"
#include "sim/named_strategy.h"

namespace berth::run {

class Measuring final : public server::Listener {
 public:
  /// `fit`: replaces Nomad's fit component; null: Nomad's. `clock` is the run's. `extra_listener`: see RunOptions.
  Measuring(const sim::Workload& workload, const sim::Inputs& inputs, const sim::FitStrategy* fit, Observer* observer,
            const sim::RunClock& clock, RunResult& result, server::Listener* extra_listener = nullptr);
  /// The cluster is loaded: samples it from now on.
  void watch(const tables::StateStore& store, std::size_t things);
  void keep_hdr_log() { hdr_log_.emplace(hdr_log_of(workload_)); }
  /// Time of the run's clock at the workload's time 0.
  void set_origin(std::int64_t ns) { origin_ns_ = ns; }
  /// Called with every commit.
  std::function<void(const server::Lane&)> on_commit;
  /// Called when an evaluation gave a gang up because its time is over.
  std::function<void(tables::JobKeyRow)> on_gave_up;

  // --- server::Listener ---
  void lane_made(server::Lane& lane) override;
  void attempt(server::Lane& lane) override;
  void waiting(server::Lane& lane) override { books_[lane.number]->started_ns = clock_.now_ns(); }
  void decided(server::Lane& lane) override {
    books_[lane.number]->decided_ns = clock_.now_ns();
    if (extra_listener_) extra_listener_->decided(lane);
  }
  void applying(server::Lane& lane) override;
  void applied(server::Lane& lane) override;
  void settled(server::Lane& lane) override;
  void failed(const server::EvalRecord&, std::string_view why) override {
    // Placements that refused plans left out are counted at the end.
    if (!why.ends_with(server::kPlansMaxReached)) ++result_.unsupported_reasons[std::string(why)];
  }

  // --- the run's own events ---
  /// Jobs whose first evaluation is settled.
  [[nodiscard]] std::uint64_t jobs_done() const { return jobs_done_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool look_due(std::size_t happened) const { return sampler_->due(happened); }
  /// Takes a sample of the cluster. Returns its duration in ns.
  std::int64_t look(std::size_t happened);
  /// Idle time that passed on the machine's clock.
  void waited(std::int64_t ns) { waited_ns_ += ns; }
  void count_asked(tables::VersionRow version);
  /// The queue policy evicted `count` allocations of this version, which are to be placed again.
  void evicted(tables::VersionRow version, std::uint64_t count);
  /// True if a limit of the workload or of the observer is reached, or a signal came; notes which in the result.
  [[nodiscard]] bool over_limit();
  /// `held_back`: the queue policy never let some jobs start.
  void finish(server::Server& server, bool held_back = false);

  [[nodiscard]] static HdrLog hdr_log_of(const sim::Workload& workload);

 private:
  /// Data of a lane's present evaluation.
  struct Book {
    std::int64_t started_ns = 0, decided_ns = 0;  ///< of the last attempt
    std::int64_t commit_ns = 0;                   ///< of its plans, since the last settled evaluation
    std::uint64_t snapshots = 0;                  ///< since the last settled evaluation
    std::uint64_t constraint_evaluations = 0;     ///< of the scratch, counted so far
    std::vector<std::uint32_t> reasons;           ///< by the lane's reason: position in `reasons_`, or kNoReason
    // For an observer.
    base::StageClock* stages = nullptr;
    std::uint32_t applier = 0;                      ///< lane whose thread applied its plan
    std::int64_t applying_ns = 0;                   ///< start of that
    std::int64_t began_ns = -1;                     ///< of the first attempt; -1: none yet
    bool used = false;                              ///< the lane's memory is not new
    base::StageClock::Counts seen{}, marks_seen{};  ///< counts of earlier evaluations
    base::StageClock::Counts elsewhere{};           ///< ticks of its plan on another lane's clock, modulo 2^64
  };

  /// Placements of a group that found no node, and the reason that excluded most nodes. In a full cluster every retry
  /// reports this, so the text is made only at the end of the run.
  struct Missing {
    enum class Kind : std::uint8_t { no_node, no_reason, exhausted, filtered } kind = Kind::no_reason;
    std::uint32_t what = 0;  ///< position in `reasons_`
    std::uint64_t placements = 0;
  };
  [[nodiscard]] std::string text_of(const Missing& missing) const;
  [[nodiscard]] std::uint32_t reason_of(const server::Lane& lane, std::uint32_t what);
  void list_failures(const server::Lane& lane, std::vector<Missing>& out);
  void add_failures(const std::vector<Missing>& failures);

  /// Number of an evaluation for an observer: its arrival; in a simulation, its place in the order of evaluations.
  [[nodiscard]] std::uint64_t number_of(const server::Lane& lane, std::uint64_t nth) const {
    return workload_.life ? nth : lane.record->tag;
  }
  void measure_commit(const server::Lane& lane, Book& book);
  void observe_applied(const server::Lane& lane, Book& book);
  void observe(const server::Lane& lane, Book& book, const Work& work);
  void note_failures(const server::Lane& lane, bool failed, bool first);
  void leave_out_replaced();

  const sim::Workload& workload_;
  const sim::Inputs& inputs_;
  const sim::FitStrategy* const fit_;
  Observer* const observer_;
  server::Listener* const extra_listener_;
  const sim::RunClock& clock_;
  RunResult& result_;
  const tables::StateStore* store_ = nullptr;
  std::vector<std::unique_ptr<Book>> books_;  // by number of the lane
  base::StageClock::Counts before_{};         // on the applier's clock, at the start of a check
  base::DecisionDigest digest_;
  base::RowMap<tables::JobKeyRow, std::vector<Missing>> failing_;  // failures of a job's last evaluation
  struct Asked {
    std::uint64_t asked = 0, placed = 0;
    std::uint64_t missing = UINT64_MAX;  // by its last evaluation; unknown: none was made, or its attempts were used up
  };
  std::vector<Asked> asked_of_;  // by job version
  static constexpr std::uint32_t kNoReason = ~0u;
  std::vector<std::string> reasons_;          // of all lanes, which do not exist at the end of the run
  std::atomic<std::uint64_t> jobs_done_ = 0;  // read by the run's thread for its progress
  std::optional<ClusterSampler> sampler_;
  std::optional<HdrLog> hdr_log_;
  std::int64_t origin_ns_ = 0;
  std::atomic<std::int64_t> waited_ns_ = 0;  // waiting for arrivals; written by the run's thread
};

}  // namespace berth::run
