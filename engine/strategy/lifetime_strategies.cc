#include "strategy/lifetime_strategies.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/assert.h"
#include "strategy/row_choice.h"

namespace berth::strategy {
namespace {

constexpr std::int64_t kNever = Lifetimes::kNever;

/// The cost of NILAS for one arriving task.
class ExitCost {
 public:
  explicit ExitCost(double step_s) : steps_per_ns_(1 / (step_s * 1e9)) {}
  void start(const Lifetimes& lifetimes) {
    exits_ = lifetimes.exits_ns(), now_ns_ = lifetimes.now_ns();
    end_ns_ = lifetimes.run_ns() >= kNever - now_ns_ ? kNever : now_ns_ + lifetimes.run_ns();
  }
  /// 0 if the task ends with the node's other tasks or before, 1 up to a step later, 2 up to two, 3 up to four, ...
  [[nodiscard]] std::uint32_t of(Row row) const {
    const std::int64_t later_ns = end_ns_ - std::max(exits_[row], now_ns_);  // both at least now
    if (later_ns <= 0) return 0;
    return 1 + static_cast<std::uint32_t>(
                   std::bit_width(static_cast<std::uint64_t>(static_cast<double>(later_ns) * steps_per_ns_)));
  }
  static constexpr std::uint32_t kCosts = 66;

 private:
  double steps_per_ns_;
  std::span<const std::int64_t> exits_;
  std::int64_t now_ns_ = 0, end_ns_ = 0;
};

class Nilas {
 public:
  explicit Nilas(const NilasOptions& options) : cost_(options.step_s) {}
  void start(const Fleet& fleet) { cost_.start(*fleet.lifetimes()); }
  [[nodiscard]] std::uint32_t cost(Row row) const { return cost_.of(row); }

 private:
  ExitCost cost_;
};

/// LAVA: one Host of 24 bytes per node, updated from the fleet's changes.
///
///   empty      no tasks
///   open       takes tasks of its class, which is that of its first task, until it is full
///   recycling  was full once; takes tasks of shorter classes. The tasks that it had then are its residual tasks
///
/// When the last residual task has ended, the node's class becomes one shorter, and its present tasks are the residual
/// ones. A class has a deadline: its longest run time, counted from when the node got it. Tasks that are left at the
/// deadline were mispredicted, and the class becomes one longer. Hosts are updated at the next decision.
class Lava {
 public:
  explicit Lava(const LavaOptions& options) : cost_(options.nilas.step_s), full_(options.full) {
    for (std::size_t c = 0; c < kHours.size(); ++c)
      limits_ns_[c] = static_cast<std::int64_t>(std::min(options.hour_s * kHours[c] * 1e9, 9e18));
    limits_ns_.back() = kNever;
  }

  void start(const Fleet& fleet) {
    const Lifetimes& lifetimes = *fleet.lifetimes();
    cost_.start(lifetimes);
    now_ns_ = lifetimes.now_ns(), task_class_ = class_of(lifetimes.run_ns());
    if (hosts_.size() != fleet.size()) {
      hosts_.resize(fleet.size());
      for (Row row = 0; row < fleet.size(); ++row) settle(fleet, row);
      seen_ = fleet.changes().size();
    }
    for (; seen_ < fleet.changes().size(); ++seen_) settle(fleet, fleet.changes()[seen_]);
  }

  /// Recycling nodes of longer classes, the next longer one first; open ones of the task's class; others in use; empty
  /// ones. Among these, the cost of NILAS.
  [[nodiscard]] std::uint32_t cost(Row row) {
    Host& host = hosts_[row];
    if (host.state == State::empty) return 5 * ExitCost::kCosts + cost_.of(row);
    pass_deadlines(host);
    std::uint32_t group = 4;
    if (host.state == State::recycling && host.lifetime > task_class_) group = host.lifetime - task_class_ - 1U;
    if (host.state == State::open && host.lifetime == task_class_) group = 3;
    return group * ExitCost::kCosts + cost_.of(row);
  }

 private:
  static constexpr std::array<double, 3> kHours = {1, 10, 100};
  enum class State : std::uint8_t { empty, open, recycling };
  struct Host {
    std::int64_t deadline_ns = kNever;
    std::uint64_t residual = 0;  ///< tasks with this number or a smaller one are residual
    State state = State::empty;
    std::uint8_t lifetime = 0;  ///< class, 0 to 3
  };

  [[nodiscard]] std::uint8_t class_of(std::int64_t run_ns) const {
    std::uint8_t out = 0;
    while (out < kHours.size() && run_ns >= limits_ns_[out]) ++out;
    return out;
  }
  void set_class(Host& host, std::uint8_t lifetime, std::int64_t from_ns) const {
    host.lifetime = lifetime;
    const std::int64_t limit = limits_ns_[lifetime];
    host.deadline_ns = limit >= kNever - from_ns ? kNever : from_ns + limit;
  }
  void pass_deadlines(Host& host) const {
    while (host.deadline_ns <= now_ns_) set_class(host, static_cast<std::uint8_t>(host.lifetime + 1), host.deadline_ns);
  }
  [[nodiscard]] bool is_full(const NodeState& node) const {
    for (const Dimension d : {kCpu, kMemory, kGpu}) {
      const double capacity = node.capacity[d];
      if (capacity > 0 && capacity - node.free[d] >= full_ * capacity) return true;
    }
    return false;
  }
  void settle(const Fleet& fleet, Row row) {
    const Lifetimes::Task* const oldest = fleet.lifetimes()->oldest(row);
    Host& host = hosts_[row];
    if (!oldest) {
      host = {};
      return;
    }
    if (host.state == State::empty) {
      host.state = State::open;
      set_class(host, class_of(oldest->run_ns), oldest->run_ns == kNever ? now_ns_ : oldest->start_ns());
    }
    pass_deadlines(host);
    if (host.state == State::open && is_full(fleet.node(row).state)) {
      host.state = State::recycling, host.residual = fleet.lifetimes()->placements();
    } else if (host.state == State::recycling && oldest->number > host.residual) {
      set_class(host, static_cast<std::uint8_t>(host.lifetime == 0 ? 0 : host.lifetime - 1), now_ns_);
      host.residual = fleet.lifetimes()->placements();
    }
  }

  ExitCost cost_;
  double full_;
  std::array<std::int64_t, 4> limits_ns_{};  ///< each class ends before its limit
  std::vector<Host> hosts_;
  std::size_t seen_ = 0;  ///< number of the fleet's changes applied
  std::int64_t now_ns_ = 0;
  std::uint8_t task_class_ = 0;
};

/// Chooses the node of the lowest cost, among these the greatest inner score, among these the lowest row.
template <class Costs>
class ByCost final : public Ranker {
 public:
  ByCost(Costs costs, double error, std::unique_ptr<Ranker> inner)
      : costs_(std::move(costs)), error_(error), inner_(std::move(inner)) {}

  std::optional<Choice> choose(const Fleet& fleet, ClassId id, Exclusion without) override {
    BERTH_ASSERT(fleet.lifetimes() != nullptr);
    const std::span<const double> scores = inner_->scores(fleet, id);
    costs_.start(fleet);
    std::optional<Row> best;
    std::uint32_t least = 0;
    double greatest = kNoScore;
    for (Row row = 0; row < scores.size(); ++row) {
      if (scores[row] == kNoScore || excluded(without, row)) continue;
      const std::uint32_t cost = costs_.cost(row);
      if (best && (cost > least || (cost == least && !(scores[row] > greatest)))) continue;
      best = row, least = cost, greatest = scores[row];
    }
    if (!best) return std::nullopt;
    return choose_on(*inner_, fleet, id, *best, alone_);
  }
  std::optional<double> prediction_error() const override { return error_; }

 private:
  Costs costs_;
  double error_;
  std::unique_ptr<Ranker> inner_;
  std::vector<std::uint64_t> alone_;
};

}  // namespace

std::unique_ptr<Ranker> make_nilas(const NilasOptions& options, std::unique_ptr<Ranker> inner) {
  return std::make_unique<ByCost<Nilas>>(Nilas(options), options.error, std::move(inner));
}
std::unique_ptr<Ranker> make_lava(const LavaOptions& options, std::unique_ptr<Ranker> inner) {
  return std::make_unique<ByCost<Lava>>(Lava(options), options.nilas.error, std::move(inner));
}

}  // namespace berth::strategy
