// What a run measures of its server: latencies, counts, samples of the cluster, the digest of the decisions, and
// records for an observer. It only looks on: it never changes what the server does.
//
// Times are read on the run's clock, which goes on while berth works; a simulation's server stands still meanwhile.
// Threads: attempt() and decided() on whoever's lane it is; everything else one call at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/row_map.h"
#include "run/cluster_samples.h"
#include "run/hdr_log.h"
#include "run/observer.h"
#include "server/server.h"
#include "sim/arrivals.h"
#include "sim/digest.h"
#include "sim/fit_strategy.h"
#include "sim/inputs.h"

namespace berth::run {

class Measuring final : public server::Listener {
 public:
  /// `fit`: in place of Nomad's fit component; null: Nomad's. `clock` is the run's. `beside`: see
  /// RunOptions.
  Measuring(const sim::Workload& workload, const sim::Inputs& inputs, const sim::FitStrategy* fit, Observer* observer,
            const sim::RunClock& clock, RunResult& result, server::Listener* beside = nullptr);
  /// The cluster is loaded: from here on it is sampled.
  void watch(const tables::StateStore& store, std::size_t things);
  void keep_hdr_log() { hdr_log_.emplace(hdr_log_of(workload_)); }
  /// The run's clock shows this when the workload begins (0).
  void set_origin(std::int64_t ns) { origin_ns_ = ns; }
  /// Called with every commit.
  std::function<void(const server::Lane&)> on_commit;

  // --- server::Listener ---
  void lane_made(server::Lane& lane) override;
  void attempt(server::Lane& lane) override;
  void waiting(server::Lane& lane) override { books_[lane.number]->started_ns = clock_.now_ns(); }
  void decided(server::Lane& lane) override {
    books_[lane.number]->decided_ns = clock_.now_ns();
    if (beside_) beside_->decided(lane);
  }
  void applying(server::Lane& lane) override;
  void applied(server::Lane& lane) override;
  void settled(server::Lane& lane) override;
  void failed(const server::EvalRecord&, std::string_view why) override {
    ++result_.unsupported_reasons[std::string(why)];
  }

  // --- the run's own events ---
  void changed(tables::NodeRow node) {
    if (sampler_) sampler_->changed(node);
  }
  /// Jobs whose first evaluation is settled.
  [[nodiscard]] std::uint64_t jobs_done() const { return jobs_done_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool look_due(std::size_t happened) const { return sampler_->due(happened); }
  /// A look at the cluster; how long it took.
  std::int64_t look(std::size_t happened);
  /// Idle time that passed on the machine's clock.
  void waited(std::int64_t ns) { waited_ns_ += ns; }
  void count_asked(tables::VersionRow version);
  /// A limit of the workload or of the observer is reached, or somebody interrupts: the result says which.
  [[nodiscard]] bool over_limit();
  void finish(server::Server& server);

  [[nodiscard]] static HdrLog hdr_log_of(const sim::Workload& workload);

 private:
  /// What is remembered of a lane's evaluation under way.
  struct Book {
    std::int64_t started_ns = 0, decided_ns = 0;  ///< of the last attempt
    std::int64_t commit_ns = 0;                   ///< of its plans, since the last evaluation that was settled
    std::uint64_t snapshots = 0;                  ///< likewise
    std::uint64_t constraint_evaluations = 0;     ///< of the scratch, counted so far
    std::vector<std::uint32_t> reasons;           ///< by the lane's reason: position in `reasons_`, or kNoReason
    // For an observer.
    base::StageClock* stages = nullptr;
    std::uint32_t applier = 0;                      ///< of whose thread applied its plan
    std::int64_t applying_ns = 0;                   ///< when that began
    std::int64_t began_ns = -1;                     ///< of the first attempt; -1: none yet
    bool used = false;                              ///< its memory is not new
    base::StageClock::Counts seen{}, marks_seen{};  ///< that belong to evaluations before
    base::StageClock::Counts elsewhere{};           ///< ticks of its plan on another lane's clock, modulo 2^64
  };

  /// Placements of a group that found no node, and what ruled out most nodes. A full cluster tells so at every retry:
  /// the text is made when the run ends.
  struct Missing {
    enum class Kind : std::uint8_t { no_node, no_reason, exhausted, filtered } kind = Kind::no_reason;
    std::uint32_t what = 0;  ///< position in `reasons_`
    std::uint64_t placements = 0;
  };
  [[nodiscard]] std::string text_of(const Missing& missing) const;
  [[nodiscard]] std::uint32_t reason_of(const server::Lane& lane, std::uint32_t what);
  void list_failures(const server::Lane& lane, std::vector<Missing>& out);
  void add_failures(const std::vector<Missing>& failures);

  /// What an observer knows an evaluation by: its arrival; in a life, the how manyth it is.
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
  server::Listener* const beside_;
  const sim::RunClock& clock_;
  RunResult& result_;
  const tables::StateStore* store_ = nullptr;
  std::vector<std::unique_ptr<Book>> books_;  // by number of the lane
  base::StageClock::Counts before_{};         // on the applier's clock, when a check began
  sim::DecisionDigest digest_;
  base::RowMap<tables::JobKeyRow, std::vector<Missing>> failing_;  // what a job's last evaluation found no node for
  struct Asked {
    std::uint64_t placements = 0;
    bool decided = false;  // by an evaluation of its job
  };
  std::vector<Asked> asked_of_;  // by job version
  static constexpr std::uint32_t kNoReason = ~0u;
  std::vector<std::string> reasons_;          // of all lanes, which are gone when the run ends
  std::atomic<std::uint64_t> jobs_done_ = 0;  // read by the run's thread for its progress
  std::optional<ClusterSampler> sampler_;
  std::optional<HdrLog> hdr_log_;
  std::int64_t origin_ns_ = 0;
  std::atomic<std::int64_t> waited_ns_ = 0;  // for arrivals; written by the run's thread
};

}  // namespace berth::run
