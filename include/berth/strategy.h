// Ranking strategies choose the node, and its devices, for the next task. Comparable because everything but the formula
// is shared: feasibility (Fleet::feasible), the visiting order (rows), and the tie rule (lowest row).
//
// A strategy is a value with one pure function, and optionally a second one:
//
//   struct MostFreeMemory {
//     double score(const Node& node, const TaskClass&) const { return node.free(kMemory); }     // greater is better
//     DeviceMask devices(const Node& node, const TaskClass& task) const { ... }                 // default: best_device
//   };
//   auto ranker = berth::strategy::make_ranker(MostFreeMemory{});
//   if (auto choice = ranker->choose(fleet, task)) fleet.place(choice->row, task, choice->devices);
//
// Instead of score(), a strategy may have a function over a block of nodes, which suits formulas that are interpreted:
//
//     void scores(std::span<const Node> nodes, const TaskClass& task, std::span<double> out) const;
//
// score() returns double or std::int32_t and is compiled into the scan: no virtual call per node. It gets the node
// before the placement and may depend only on it, the task class and the strategy's own constants, because scores are
// cached. There is one column of scores per class. A query re-evaluates only the nodes that changed since the last
// query of the class (Fleet::changes), then takes the maximum of blocks of 64 (R-STRAT-001 to 006). Integer scores stay
// integers: their coarse steps are part of a policy (R-STRAT-004). A NaN counts as the lowest score of a feasible node.
//
// As the fit component of Nomad's own scoring (R-STRAT-007, fit.h; `berth run --strategy`, Cluster::score_by) a score
// must be in 0..1: an integer counts as hundredths, a double is clamped to that range, a NaN counts as 0. A strategy
// with other scores converts them by a third function, which keeps their order:
//
//     double component(double score) const { return 1 + score; }  // a cost of 0..1, negated
//
// A strategy that reads predicted run times (Node::exit_s, TaskClass::run_time_s, Fleet::lifetimes) returns the error
// that the predictions are to have (0: exact). nullopt: it reads none. Its scores are not cached, since time changes
// them:
//
//     std::optional<double> prediction_error() const { return 0.0; }
//
// registry() selects strategies by name and parameters at run time. Registry::add() adds a user's strategy, which is
// then selected like berth's own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "berth/catalogue.h"
#include "berth/fit.h"
#include "berth/fleet.h"
#include "berth/power.h"
#include "berth/result.h"

namespace berth::strategy {

/// The chosen place of a task.
struct Choice {
  Row row = 0;
  DeviceMask devices = 0;
  double score = 0;  ///< by the strategy; 0 if it has no scores
};

/// Rows that a decision may not use, e.g. those that run another task of the same job; bit = row.
using Exclusion = std::span<const std::uint64_t>;
[[nodiscard]] inline bool excluded(Exclusion rows, Row row) noexcept {
  return !rows.empty() && (rows[row / 64] >> (row % 64) & 1) != 0;
}

/// A strategy applied to one fleet. It caches scores, so it must serve one Fleet from the fleet's first change on.
class Ranker {
 public:
  virtual ~Ranker() = default;
  /// The node and devices for one task of `task`; nullopt if no node is feasible. Does not change the fleet.
  [[nodiscard]] virtual std::optional<Choice> choose(const Fleet& fleet, ClassId task, Exclusion without = {}) = 0;
  /// The scores of all rows for `task`, infeasible ones kNoScore; empty if the strategy has no scores (e.g. first-fit).
  /// Valid until the next call. Used by weighted sums.
  [[nodiscard]] virtual std::span<const double> scores(const Fleet& fleet, ClassId task) {
    static_cast<void>(fleet), static_cast<void>(task);
    return {};
  }
  /// The strategy as the fit component of Nomad's scoring. Empty if it does not score each node by itself (searches,
  /// draws, sums rescaled over all nodes). The function refers to this object, only reads it, and may be called from
  /// several threads.
  [[nodiscard]] virtual FitFunction fit() const { return {}; }
  /// If the strategy reads predicted run times: the standard deviation of the logarithm of predicted over true run
  /// time.
  [[nodiscard]] virtual std::optional<double> prediction_error() const { return std::nullopt; }
  /// The scores of all rows at the last choose(), if it compared only some of them; for the regret. Empty: it compared
  /// all, or the strategy has no scores. Valid until the next call.
  [[nodiscard]] virtual std::span<const double> scores_of_all() const { return {}; }
};
inline constexpr double kNoScore = -std::numeric_limits<double>::infinity();

/// Which device a task with a part of a GPU takes (R-STRAT-304).
enum class DeviceRule : std::uint8_t {
  best,   ///< the fullest one that has enough
  worst,  ///< the emptiest one
  first,  ///< the first that has enough
};

/// R-STRAT-303: the first `gpus` unused devices; fewer bits if there are fewer.
[[nodiscard]] inline DeviceMask whole_devices(const Node& node, std::int32_t gpus) noexcept {
  DeviceMask mask = 0;
  for (std::size_t i = 0; i < node.devices.size() && gpus > 0; ++i)
    if (node.devices[i] >= kWholeDevice) mask |= DeviceMask{1} << i, --gpus;
  return mask;
}
/// R-STRAT-304; lowest index among equals. 0 if none has `milli` free.
[[nodiscard]] inline DeviceMask part_device(const Node& node, std::int32_t milli, DeviceRule rule) noexcept {
  std::size_t best = node.devices.size();
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    if (node.devices[i] < milli) continue;
    if (best == node.devices.size() || (rule == DeviceRule::best && node.devices[i] < node.devices[best]) ||
        (rule == DeviceRule::worst && node.devices[i] > node.devices[best]))
      best = i;
  }
  return best == node.devices.size() ? 0 : DeviceMask{1} << best;
}
[[nodiscard]] inline DeviceMask choose_devices(const Node& node, const TaskClass& task, DeviceRule rule) noexcept {
  if (task.gpu_milli == 0) return 0;
  return task.gpu_milli == kWholeDevice ? whole_devices(node, task.gpus) : part_device(node, task.gpu_milli, rule);
}

template <class S>
concept RankingByNode = requires(const S& strategy, const Node& node, const TaskClass& task) {
  requires std::is_same_v<decltype(strategy.score(node, task)), double> ||
      std::is_same_v<decltype(strategy.score(node, task)), std::int32_t>;
};
template <class S>
concept RankingByBlock = requires(const S& strategy, std::span<const Node> nodes, const TaskClass& task,
                                  std::span<double> out) {
  { strategy.scores(nodes, task, out) } -> std::same_as<void>;
};
template <class S>
concept Ranking = RankingByNode<S> || RankingByBlock<S>;

template <Ranking S>
struct ScoreOf {
  using Type = double;
};
template <RankingByNode S>
struct ScoreOf<S> {
  using Type = decltype(std::declval<const S&>().score(std::declval<const Node&>(), std::declval<const TaskClass&>()));
};
template <class S>
concept ChoosesDevices = requires(const S& strategy, const Node& node, const TaskClass& task) {
  { strategy.devices(node, task) } -> std::same_as<DeviceMask>;
};

/// A strategy that converts its scores to the fit component itself.
template <class S>
concept SaysItsComponent = requires(const S& strategy) {
  {
    strategy.component(strategy.score(std::declval<const Node&>(), std::declval<const TaskClass&>()))
    } -> std::same_as<double>;
};
/// A strategy that may read predicted run times.
template <class S>
concept ReadsRunTimes = requires(const S& strategy) {
  { strategy.prediction_error() } -> std::same_as<std::optional<double>>;
};
template <class S>
[[nodiscard]] std::optional<double> prediction_error_of(const S& strategy) {
  if constexpr (ReadsRunTimes<S>) return strategy.prediction_error();
  return std::nullopt;
}
/// R-STRAT-007: the score of a node as a fit component, 0..1.
template <RankingByNode S>
[[nodiscard]] double fit_component(const S& strategy, const Node& node, const TaskClass& task) {
  const auto score = strategy.score(node, task);
  double component = 0;
  if constexpr (SaysItsComponent<S>)
    component = strategy.component(score);
  else if constexpr (std::is_same_v<decltype(score), const std::int32_t>)
    component = static_cast<double>(score) / 100.0;
  else
    component = score;
  return component > 0 ? std::min(component, 1.0) : 0.0;  // a NaN: 0
}

/// Cached scores of all classes, one column each.
///   scores      n, kNone if infeasible
///   block_best  maximum of 64 rows each
/// Cost of a refresh: one score per node that changed since the last query of this class (each once), and 64
/// comparisons per block with such a node. Memory: classes x nodes x sizeof(Score), at most kBytesMax; beyond that the
/// least recently used column is dropped.
template <Ranking S>
class ScoreColumns {
 public:
  using Score = typename ScoreOf<S>::Type;
  static constexpr Score kNone =
      std::is_floating_point_v<Score> ? static_cast<Score>(kNoScore) : std::numeric_limits<Score>::lowest();
  static constexpr std::size_t kBlock = 64, kBytesMax = std::size_t{256} << 20;

  struct Column {
    std::vector<Score> scores, block_best;
    std::size_t seen = 0;  ///< number of the fleet's changes applied
    std::uint64_t used = 0;
  };

  const Column& refresh(const Fleet& fleet, const S& strategy, ClassId id) {
    if (id >= columns_.size()) columns_.resize(fleet.class_count());
    if (!columns_[id] || prediction_error_of(strategy)) return fill(fleet, strategy, id);
    Column& column = *columns_[id];
    column.used = ++ticks_;
    const std::vector<Row>& changes = fleet.changes();
    const TaskClass& task = fleet.task_class(id);
    if (column.seen == changes.size()) return column;
    if (++stamp_ == 0) std::fill(stamps_.begin(), stamps_.end(), 0), stamp_ = 1;
    for (std::size_t i = column.seen; i < changes.size(); ++i) {
      const Row row = changes[i];
      if (stamps_[row] == stamp_) continue;
      stamps_[row] = stamp_;
      if (!task.may_run_on(row)) continue;
      evaluate(fleet, strategy, task, row, column);
      dirty_[row / kBlock / 64] |= std::uint64_t{1} << (row / kBlock % 64);
    }
    finish_block(strategy, task, column);
    column.seen = changes.size();
    for (std::size_t word = 0; word < dirty_.size(); ++word)
      for (; dirty_[word] != 0; dirty_[word] &= dirty_[word] - 1)
        rate(column, word * 64 + static_cast<std::size_t>(std::countr_zero(dirty_[word])));
    return column;
  }

  /// The row with the largest score, the lowest row among equals; size() if none is feasible.
  [[nodiscard]] static std::size_t best(const Column& column, Exclusion without) {
    const std::size_t n = column.scores.size();
    Score greatest = kNone;
    if (!without.empty()) {
      std::size_t found = n;
      for (std::size_t row = 0; row < n; ++row)
        if (column.scores[row] > greatest && !excluded(without, static_cast<Row>(row)))
          greatest = column.scores[row], found = row;
      return found;
    }
    std::size_t block = 0;
    for (std::size_t b = 0; b < column.block_best.size(); ++b)
      if (column.block_best[b] > greatest) greatest = column.block_best[b], block = b;
    if (greatest == kNone) return n;
    std::size_t row = block * kBlock;
    while (column.scores[row] != greatest) ++row;
    return row;
  }

 private:
  /// Stores the score of a row, with RankingByBlock once the block is full or finish_block() is called.
  void evaluate(const Fleet& fleet, const S& strategy, const TaskClass& task, Row row, Column& column) {
    if (!fleet.holds(row, task)) {
      column.scores[row] = kNone;
    } else if constexpr (RankingByNode<S>) {
      column.scores[row] = feasible_score(strategy.score(fleet.node(row), task));
    } else {
      block_.push_back(fleet.node(row)), block_rows_.push_back(row);
      if (block_.size() == kBlock) finish_block(strategy, task, column);
    }
  }
  void finish_block(const S& strategy, const TaskClass& task, Column& column) {
    if constexpr (RankingByBlock<S> && !RankingByNode<S>) {
      std::array<double, kBlock> scores;
      strategy.scores(block_, task, std::span(scores).first(block_.size()));
      for (std::size_t i = 0; i < block_.size(); ++i) column.scores[block_rows_[i]] = feasible_score(scores[i]);
      block_.clear(), block_rows_.clear();
    }
  }
  /// Also turns a NaN into the lowest score of a feasible node.
  static Score feasible_score(Score score) { return score > kLowest ? score : kLowest; }
  static constexpr Score kLowest =
      std::is_floating_point_v<Score> ? std::numeric_limits<Score>::lowest() : std::numeric_limits<Score>::lowest() + 1;

  static void rate(Column& column, std::size_t block) {
    const std::size_t begin = block * kBlock, end = std::min(begin + kBlock, column.scores.size());
    Score best[4] = {kNone, kNone, kNone, kNone};  // four chains, because one is bound by the comparison's latency
    std::size_t row = begin;
    for (; row + 4 <= end; row += 4)
      for (std::size_t lane = 0; lane < 4; ++lane)
        best[lane] = column.scores[row + lane] > best[lane] ? column.scores[row + lane] : best[lane];
    for (; row < end; ++row) best[0] = std::max(best[0], column.scores[row]);
    column.block_best[block] = std::max(std::max(best[0], best[1]), std::max(best[2], best[3]));
  }

  const Column& fill(const Fleet& fleet, const S& strategy, ClassId id) {
    const std::size_t n = fleet.size(), blocks = (n + kBlock - 1) / kBlock;
    stamps_.resize(n), dirty_.resize((blocks + 63) / 64);
    const std::size_t kept_max = std::max<std::size_t>(2, kBytesMax / std::max<std::size_t>(1, n * sizeof(Score)));
    if (!columns_[id] && kept_ >= kept_max) {
      auto oldest = columns_.end();
      for (auto column = columns_.begin(); column != columns_.end(); ++column)
        if (*column && (oldest == columns_.end() || (*column)->used < (*oldest)->used)) oldest = column;
      oldest->reset(), --kept_;
    }
    if (!columns_[id]) columns_[id] = std::make_unique<Column>(), ++kept_;
    Column& column = *columns_[id];
    column.scores.resize(n), column.block_best.resize(blocks);
    const TaskClass& task = fleet.task_class(id);
    for (std::size_t row = 0; row < n; ++row)
      if (task.may_run_on(static_cast<Row>(row)))
        evaluate(fleet, strategy, task, static_cast<Row>(row), column);
      else
        column.scores[row] = kNone;
    finish_block(strategy, task, column);
    for (std::size_t block = 0; block < blocks; ++block) rate(column, block);
    column.seen = fleet.changes().size(), column.used = ++ticks_;
    return column;
  }

  std::vector<std::unique_ptr<Column>> columns_;
  std::vector<std::uint32_t> stamps_;
  std::vector<std::uint64_t> dirty_;
  std::vector<Node> block_;  // nodes to score, of block_rows_
  std::vector<Row> block_rows_;
  std::uint32_t stamp_ = 0;
  std::uint64_t ticks_ = 0;
  std::size_t kept_ = 0;
};

/// Chooses among all feasible nodes: largest score, lowest row among equals (R-STRAT-002).
template <Ranking S>
class ScanRanker final : public Ranker {
 public:
  ScanRanker(S strategy, DeviceRule rule) : strategy_(std::move(strategy)), rule_(rule) {}

  std::optional<Choice> choose(const Fleet& fleet, ClassId id, Exclusion without) override {
    const auto& column = columns_.refresh(fleet, strategy_, id);
    const std::size_t row = ScoreColumns<S>::best(column, without);
    if (row == fleet.size()) return std::nullopt;
    const TaskClass& task = fleet.task_class(id);
    const Node node = fleet.node(static_cast<Row>(row));
    DeviceMask devices = 0;
    if constexpr (ChoosesDevices<S>)
      devices = strategy_.devices(node, task);
    else
      devices = choose_devices(node, task, rule_);
    return Choice{static_cast<Row>(row), devices, static_cast<double>(column.scores[row])};
  }

  std::span<const double> scores(const Fleet& fleet, ClassId id) override {
    const auto& column = columns_.refresh(fleet, strategy_, id);
    if constexpr (std::is_same_v<typename ScoreColumns<S>::Score, double>) {
      return column.scores;
    } else {
      as_double_.resize(column.scores.size());
      for (std::size_t row = 0; row < as_double_.size(); ++row)
        as_double_[row] =
            column.scores[row] == ScoreColumns<S>::kNone ? kNoScore : static_cast<double>(column.scores[row]);
      return as_double_;
    }
  }

  FitFunction fit() const override {
    return prediction_error() ? FitFunction{} : FitFunction{&ScanRanker::components, &strategy_};
  }
  std::optional<double> prediction_error() const override { return prediction_error_of(strategy_); }

 private:
  static void components(const void* strategy, std::span<const Node> nodes, const TaskClass& task,
                         std::span<double> out) {
    const S& mine = *static_cast<const S*>(strategy);
    if constexpr (RankingByNode<S>) {
      for (std::size_t i = 0; i < nodes.size(); ++i) out[i] = fit_component(mine, nodes[i], task);
    } else {
      mine.scores(nodes, task, out);
      for (double& score : out) score = score > 0 ? std::min(score, 1.0) : 0.0;  // a NaN: 0
    }
  }
  S strategy_;
  DeviceRule rule_;
  ScoreColumns<S> columns_;
  std::vector<double> as_double_;
};

template <Ranking S>
[[nodiscard]] std::unique_ptr<Ranker> make_ranker(S strategy, DeviceRule rule = DeviceRule::best) {
  return std::make_unique<ScanRanker<S>>(std::move(strategy), rule);
}

class FragmentTables;  // engine/strategy/fragments.h: the typical workload and the fragment measure

/// Read-only data for strategies, and the random draws of those that sample.
struct Context {
  Amounts capacity_max{};                            ///< largest capacity of any node
  Amounts reference{128'000, 0, 0, 8'000};           ///< R-STRAT-301; 0 = the largest of any node
  std::array<double, kDimensions> demand_mean{};     ///< mean request of the workload
  std::shared_ptr<const FragmentTables> fragments;   ///< needed by fgd
  std::shared_ptr<const RateTable> rates;            ///< needed by pwr; null if no power or price is known
  std::function<std::uint32_t(std::uint32_t)> draw;  ///< uniform in [0, bound): needed by strategies that sample
  bool run_times = false;  ///< the fleet predicts them: needed by strategies with a prediction_error()
};

/// Parameters as written, e.g. {"k", "2"}, in that order. A parameter written first and without its name has the key
/// "".
using Arguments = std::vector<std::pair<std::string, std::string>>;

struct ParameterInfo {
  std::string name, fallback, meaning;
  std::vector<std::string> choices{};  ///< allowed words; empty = a number in [min, max]
  double min = 0, max = 1e9;
  /// For a text of another form, which `meaning` describes: returns true if it is valid.
  std::function<bool(const std::string&)> reads{};
  /// For a text whose errors have a place: as `reads`, with the error to report. Also checks the fallback.
  std::function<Result<void>(const std::string&)> check{};
  bool first = false;  ///< written first and without its name, "expr:FORMULA"; may contain '='
};

/// Read access to arguments that were checked against the strategy's ParameterInfo.
class Parameters {
 public:
  explicit Parameters(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  [[nodiscard]] const std::string& word(const std::string& name) const { return values_.at(name); }
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, std::string>& all() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

class Registry;

struct StrategyInfo {
  std::string name;
  std::string formula, source, cost;
  std::vector<ParameterInfo> parameters{};
  bool samples = false;          ///< draws random numbers
  bool open_parameters = false;  ///< takes the names of other strategies as parameters (sum)
  /// The registry argument is the calling one, for strategies that consist of others.
  std::function<Result<std::unique_ptr<Ranker>>(const Context&, const Parameters&, const Registry&)> make;
};

/// A chosen strategy: name and arguments.
struct StrategySpec {
  std::string name;
  Arguments arguments{};
  [[nodiscard]] std::string text() const;  ///< "name:key=value:..."
};

class Registry : public Catalogue<StrategyInfo> {
 public:
  using Catalogue::add;
  /// Adds a strategy without parameters, e.g. a user's own.
  template <Ranking S>
  void add(std::string name, std::string formula, S strategy) {
    add(StrategyInfo{.name = std::move(name),
                     .formula = std::move(formula),
                     .source = "user",
                     .cost = "one score per changed node",
                     .make = [strategy](const Context&, const Parameters&, const Registry&)
                         -> Result<std::unique_ptr<Ranker>> { return make_ranker(strategy); }});
  }

  /// Reads "name:key=value:key=value" and checks it. Errors name the nearest known name and list the valid ones.
  [[nodiscard]] Result<StrategySpec> parse(std::string_view text) const;
  [[nodiscard]] Result<std::unique_ptr<Ranker>> make(const StrategySpec& spec, const Context& context) const;
  /// Like make(), but an error if the strategy has no fit().
  [[nodiscard]] Result<std::unique_ptr<Ranker>> make_fit(const StrategySpec& spec, const Context& context) const;
};

/// The strategies of this program: berth's own and added ones. Not for concurrent changes.
[[nodiscard]] Registry& registry();

/// Hint for an unknown word `said`: "did you mean 'x'? valid: a, b, c".
[[nodiscard]] std::string nearest_and_valid(std::string_view said, const std::vector<std::string>& valid);

}  // namespace berth::strategy
