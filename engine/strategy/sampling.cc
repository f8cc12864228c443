#include "strategy/sampling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "strategy/row_choice.h"

namespace berth::strategy {
namespace {

Choice chosen(const Fleet& fleet, ClassId id, Row row, DeviceRule rule, double score = 0) {
  return {row, choose_devices(fleet.node(row), fleet.task_class(id), rule), score};
}

class NextFit final : public Ranker {
 public:
  explicit NextFit(DeviceRule rule) : rule_(rule) {}
  std::optional<Choice> choose(const Fleet& fleet, ClassId id, Exclusion without) override {
    const TaskClass& task = fleet.task_class(id);
    for (std::size_t seen = 0; seen < fleet.size(); ++seen) {
      const auto row = static_cast<Row>((cursor_ + seen) % fleet.size());
      if (excluded(without, row) || !fleet.feasible(row, task)) continue;
      cursor_ = row;
      return chosen(fleet, id, row, rule_);
    }
    return std::nullopt;
  }

 private:
  DeviceRule rule_;
  std::size_t cursor_ = 0;
};

/// The feasible rows of each class as bits. A query decides only the rows that changed since the last one.
class FeasibleRows {
 public:
  /// Bits of rows; those past the last row are 0. Valid until the next call.
  std::span<const std::uint64_t> of(const Fleet& fleet, ClassId id) {
    if (id >= columns_.size()) columns_.resize(fleet.class_count());
    const std::vector<Row>& changes = fleet.changes();
    const std::size_t n = fleet.size(), words = (n + 63) / 64;
    if (columns_[id].bits.empty() && (kept_ += words * sizeof(std::uint64_t)) > kBytesMax) {
      for (Column& column : columns_) column = {};
      kept_ = words * sizeof(std::uint64_t);
    }
    Column& column = columns_[id];
    const TaskClass& task = fleet.task_class(id);
    const auto decide = [&](Row row) {
      const std::uint64_t bit = std::uint64_t{1} << row % 64;
      std::uint64_t& word = column.bits[row / 64];
      word = fleet.feasible(row, task) ? word | bit : word & ~bit;
    };
    if (column.bits.empty() || changes.size() - column.seen > n) {
      column.bits.resize(words);
      for (Row row = 0; row < n; ++row) decide(row);
    } else {
      for (std::size_t i = column.seen; i < changes.size(); ++i) decide(changes[i]);
    }
    column.seen = changes.size();
    return column.bits;
  }

 private:
  static constexpr std::size_t kBytesMax = std::size_t{256} << 20;
  struct Column {
    std::vector<std::uint64_t> bits;
    std::size_t seen = 0;  // number of the fleet's changes applied
  };
  std::vector<Column> columns_;
  std::size_t kept_ = 0;  // bytes of all columns
};

class Random final : public Ranker {
 public:
  explicit Random(Draw draw) : draw_(std::move(draw)) {}
  std::optional<Choice> choose(const Fleet& fleet, ClassId id, Exclusion without) override {
    const std::span<const std::uint64_t> feasible = feasible_.of(fleet, id);
    const auto word_at = [&](std::size_t w) { return feasible[w] & ~(without.empty() ? 0 : without[w]); };
    std::uint32_t count = 0;
    for (std::size_t w = 0; w < feasible.size(); ++w) count += static_cast<std::uint32_t>(std::popcount(word_at(w)));
    if (count == 0) return std::nullopt;
    std::uint32_t before = count == 1 ? 0 : draw_(count);  // feasible rows before the chosen one
    std::size_t w = 0;
    for (; before >= static_cast<std::uint32_t>(std::popcount(word_at(w))); ++w)
      before -= static_cast<std::uint32_t>(std::popcount(word_at(w)));
    std::uint64_t word = word_at(w);
    for (; before > 0; --before) word &= word - 1;
    const auto row = static_cast<Row>(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
    const TaskClass& task = fleet.task_class(id);
    if (task.gpu_milli == 0 || task.gpu_milli == kWholeDevice) return chosen(fleet, id, row, DeviceRule::first);
    const Node node = fleet.node(row);
    DeviceMask device = 0;
    std::uint32_t seen = 0;
    for (std::size_t i = 0; i < node.devices.size(); ++i)
      if (node.devices[i] >= task.gpu_milli && draw_(++seen) == 0) device = DeviceMask{1} << i;
    return Choice{row, device, 0};
  }

 private:
  Draw draw_;
  FeasibleRows feasible_;
};

class RandomFit final : public Ranker {
 public:
  RandomFit(Draw draw, DeviceRule rule) : draw_(std::move(draw)), rule_(rule) {}
  std::optional<Choice> choose(const Fleet& fleet, ClassId id, Exclusion without) override {
    const std::span<const std::uint64_t> feasible = feasible_.of(fleet, id);
    std::optional<Row> kept;
    std::uint32_t seen = 0;
    for (std::size_t w = 0; w < feasible.size(); ++w)
      for (std::uint64_t word = feasible[w] & ~(without.empty() ? 0 : without[w]); word != 0; word &= word - 1)
        if (draw_(++seen) == 0 || !kept)
          kept = static_cast<Row>(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
    if (!kept) return std::nullopt;
    return chosen(fleet, id, *kept, rule_);
  }

 private:
  Draw draw_;
  DeviceRule rule_;
  FeasibleRows feasible_;
};

/// Fisher-Yates shuffle from the front, computed on demand. Each shuffle starts from the rows in visiting order.
class LazyShuffle {
 public:
  void start(std::size_t n) {
    if (rows_.size() != n) {
      rows_.resize(n);
      std::iota(rows_.begin(), rows_.end(), Row{0});
    }
    while (!swaps_.empty()) {  // undo: cheaper than a new list if few were drawn
      std::swap(rows_[swaps_.back().first], rows_[swaps_.back().second]);
      swaps_.pop_back();
    }
  }
  /// The next row of the order; call at most n times.
  Row next(const Draw& draw) {
    const auto at = static_cast<std::uint32_t>(swaps_.size());
    const auto left = static_cast<std::uint32_t>(rows_.size()) - at;
    const std::uint32_t with = at + (left == 1 ? 0 : draw(left));
    std::swap(rows_[at], rows_[with]);
    swaps_.emplace_back(at, with);
    return rows_[at];
  }

 private:
  std::vector<Row> rows_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> swaps_;
};

/// Base of the sampling strategies: uses an inner strategy's scores of some rows only.
class Sampled : public Ranker {
 public:
  explicit Sampled(std::unique_ptr<Ranker> inner) : inner_(std::move(inner)) {}
  std::optional<Choice> choose(const Fleet& fleet, ClassId id, Exclusion without) override {
    scores_ = inner_->scores(fleet, id);
    const auto row = pick(fleet.size(), [&](Row r) { return excluded(without, r) ? kNoScore : scores_[r]; });
    if (!row) return std::nullopt;
    return choose_on(*inner_, fleet, id, *row, alone_);
  }
  std::span<const double> scores_of_all() const override { return scores_; }

 protected:
  using ScoreOf = std::function<double(Row)>;
  virtual std::optional<Row> pick(std::size_t n, const ScoreOf& score) = 0;

 private:
  std::unique_ptr<Ranker> inner_;
  std::span<const double> scores_;  // of inner_
  std::vector<std::uint64_t> alone_;
};

class PowerOfK final : public Sampled {
 public:
  PowerOfK(std::size_t k, Draw draw, std::unique_ptr<Ranker> inner)
      : Sampled(std::move(inner)), k_(k), draw_(std::move(draw)) {}

 private:
  std::optional<Row> pick(std::size_t n, const ScoreOf& score) override {
    shuffle_.start(n);
    std::optional<Row> best;
    double best_score = kNoScore;
    std::size_t found = 0;
    for (std::size_t drawn = 0; drawn < n && found < k_; ++drawn) {
      const Row row = shuffle_.next(draw_);
      const double s = score(row);
      if (s == kNoScore) continue;
      ++found;
      if (!best || s > best_score || (s == best_score && row < *best)) best = row, best_score = s;
    }
    return best;
  }
  std::size_t k_;
  Draw draw_;
  LazyShuffle shuffle_;
};

class NomadLimit final : public Sampled {
 public:
  NomadLimit(std::size_t limit, Draw draw, std::unique_ptr<Ranker> inner)
      : Sampled(std::move(inner)), limit_(limit), draw_(std::move(draw)) {}

 private:
  std::optional<Row> pick(std::size_t n, const ScoreOf& score) override {
    constexpr std::size_t kSkipsMax = 3;
    std::size_t limit = limit_;
    if (limit == 0)
      limit = std::max<std::size_t>(2, n <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(n - 1)));  // ceil(log2 n)
    shuffle_.start(n);
    skipped_.clear();
    std::optional<Row> best;
    double best_score = kNoScore;
    std::size_t taken = 0;
    const auto take = [&](Row row) {
      ++taken;
      if (const double s = score(row); !best || s > best_score) best = row, best_score = s;
    };
    for (std::size_t drawn = 0; drawn < n && taken < limit; ++drawn) {
      const Row row = shuffle_.next(draw_);
      const double s = score(row);
      if (s == kNoScore) continue;
      if (s <= 0 && skipped_.size() < kSkipsMax)
        skipped_.push_back(row);
      else
        take(row);
    }
    for (std::size_t i = 0; i < skipped_.size() && taken < limit; ++i) take(skipped_[i]);
    return best;
  }
  std::size_t limit_;
  Draw draw_;
  LazyShuffle shuffle_;
  std::vector<Row> skipped_;
};

class KubernetesSampling final : public Sampled {
 public:
  KubernetesSampling(std::size_t percent, std::unique_ptr<Ranker> inner)
      : Sampled(std::move(inner)), percent_(percent) {}

 private:
  std::optional<Row> pick(std::size_t n, const ScoreOf& score) override {
    std::size_t wanted = n;
    if (n >= 100) {
      const std::size_t percent = percent_ > 0 ? percent_ : std::max<std::size_t>(5, n / 125 >= 45 ? 5 : 50 - n / 125);
      wanted = std::max<std::size_t>(100, n * percent / 100);
    }
    std::optional<Row> best;
    double best_score = kNoScore;
    std::size_t found = 0, walked = 0;
    for (; walked < n && found < wanted; ++walked) {
      const auto row = static_cast<Row>((start_ + walked) % n);
      const double s = score(row);
      if (s == kNoScore) continue;
      ++found;
      if (!best || s > best_score || (s == best_score && row < *best)) best = row, best_score = s;
    }
    if (n > 0) start_ = (start_ + walked) % n;
    return best;
  }
  std::size_t percent_, start_ = 0;
};

class Sum final : public Ranker {
 public:
  Sum(std::vector<SumComponent> components, bool rescale, DeviceRule rule)
      : components_(std::move(components)), rescale_(rescale), rule_(rule) {}

  std::span<const double> scores(const Fleet& fleet, ClassId id) override {
    totals_.assign(fleet.size(), 0);
    bool first = true;
    for (SumComponent& component : components_) {
      const std::span<const double> scores = component.ranker->scores(fleet, id);
      double least = std::numeric_limits<double>::infinity(), greatest = kNoScore;
      if (rescale_ || component.integer_steps)
        for (const double s : scores)
          if (s != kNoScore) least = std::min(least, s), greatest = std::max(greatest, s);
      const double range = greatest - least;
      for (std::size_t row = 0; row < totals_.size(); ++row) {
        const double s = scores[row];
        if (s == kNoScore) {
          totals_[row] = kNoScore;
          continue;
        }
        double value = s;
        if (component.integer_steps)
          value = range == 0 ? 0 : std::floor((s - least) * 100 / range);
        else if (rescale_)
          value = range == 0 ? 0 : (s - least) / range;
        totals_[row] = first ? component.weight * value : totals_[row] + component.weight * value;
      }
      first = false;
    }
    // A NaN (0 times an overflow) counts as the lowest score of a feasible node, as everywhere.
    for (double& total : totals_)
      if (std::isnan(total)) total = std::numeric_limits<double>::lowest();
    return totals_;
  }

  std::optional<Choice> choose(const Fleet& fleet, ClassId id, Exclusion without) override {
    const std::span<const double> totals = scores(fleet, id);
    const auto best = best_row(totals, without);
    if (!best) return std::nullopt;
    return chosen(fleet, id, *best, rule_, totals[*best]);
  }

  std::optional<double> prediction_error() const override {
    for (const SumComponent& component : components_)
      if (const auto error = component.ranker->prediction_error()) return error;
    return std::nullopt;
  }

  FitFunction fit() const override {
    const bool by_node = !rescale_ && std::all_of(components_.begin(), components_.end(), [](const SumComponent& c) {
      return static_cast<bool>(c.ranker->fit());
    });
    return by_node ? FitFunction{&Sum::mean, this} : FitFunction{};
  }

 private:
  /// R-STRAT-007: the weighted mean of the components' fits; with a negative weight, 1 - fit counts.
  static void mean(const void* strategy, std::span<const Node> nodes, const TaskClass& task, std::span<double> out) {
    const Sum& sum = *static_cast<const Sum*>(strategy);
    double weights = 0;
    for (const SumComponent& component : sum.components_) weights += std::abs(component.weight);
    std::array<double, 64> fits;
    for (std::size_t first = 0; first < nodes.size(); first += fits.size()) {
      const std::size_t count = std::min(fits.size(), nodes.size() - first);
      const std::span<double> means = out.subspan(first, count);
      std::fill(means.begin(), means.end(), 0);
      for (const SumComponent& component : sum.components_) {
        component.ranker->fit()(nodes.subspan(first, count), task, std::span(fits).first(count));
        for (std::size_t i = 0; i < count && weights > 0; ++i)
          means[i] += std::abs(component.weight) / weights * (component.weight < 0 ? 1 - fits[i] : fits[i]);
      }
      for (double& m : means) m = m > 0 ? std::min(m, 1.0) : 0.0;
    }
  }

  std::vector<SumComponent> components_;
  bool rescale_;
  DeviceRule rule_;
  std::vector<double> totals_;
};

}  // namespace

std::unique_ptr<Ranker> make_next_fit(DeviceRule rule) { return std::make_unique<NextFit>(rule); }
std::unique_ptr<Ranker> make_random(Draw draw) { return std::make_unique<Random>(std::move(draw)); }
std::unique_ptr<Ranker> make_random_fit(Draw draw, DeviceRule rule) {
  return std::make_unique<RandomFit>(std::move(draw), rule);
}
std::unique_ptr<Ranker> make_power_of_k(std::size_t k, Draw draw, std::unique_ptr<Ranker> inner) {
  return std::make_unique<PowerOfK>(k, std::move(draw), std::move(inner));
}
std::unique_ptr<Ranker> make_nomad_limit(std::size_t limit, Draw draw, std::unique_ptr<Ranker> inner) {
  return std::make_unique<NomadLimit>(limit, std::move(draw), std::move(inner));
}
std::unique_ptr<Ranker> make_kubernetes_sampling(std::size_t percent, std::unique_ptr<Ranker> inner) {
  return std::make_unique<KubernetesSampling>(percent, std::move(inner));
}
std::unique_ptr<Ranker> make_sum(std::vector<SumComponent> components, bool rescale, DeviceRule rule) {
  return std::make_unique<Sum>(std::move(components), rescale, rule);
}

}  // namespace berth::strategy
