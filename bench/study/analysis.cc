#include "study/analysis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/json.h"
#include "base/text.h"
#include "study/measures.h"

namespace berth::study {
namespace {

constexpr std::size_t kInteractionsMax = 2'000;  // pairs of levels of pairs of factors
using Levels = std::vector<std::size_t>;

/// The value of a factor in a run; "" if the run does not set it.
std::string value_of(const Record& record, const std::string& factor) {
  if (factor == "workload") return record.workload;
  if (factor == "label") return record.label;
  for (const sim::Change& change : record.changes)
    if (change.key == factor) return change.value;
  return "";
}

std::vector<FactorLevels> factors_of(const std::vector<const Record*>& records) {
  std::vector<std::string> names = {"workload", "label"};
  for (const Record* record : records)
    for (const sim::Change& change : record->changes)
      if (change.key != "seed" && std::find(names.begin(), names.end(), change.key) == names.end())
        names.push_back(change.key);
  std::vector<FactorLevels> out;
  for (const std::string& name : names) {
    FactorLevels factor{name, {}};
    for (const Record* record : records)
      if (const std::string value = value_of(*record, name);
          std::find(factor.levels.begin(), factor.levels.end(), value) == factor.levels.end())
        factor.levels.push_back(value);
    if (factor.levels.size() < 2) continue;
    if (std::all_of(factor.levels.begin(), factor.levels.end(),
                    [](const std::string& v) { return base::parse_double(v).has_value(); }))
      std::stable_sort(factor.levels.begin(), factor.levels.end(), [](const std::string& a, const std::string& b) {
        return *base::parse_double(a) < *base::parse_double(b);
      });
    out.push_back(std::move(factor));
  }
  return out;
}

/// Results of runs by setting and replicate.
class Grid {
 public:
  Grid(const std::vector<const Record*>& records, const std::vector<FactorLevels>& factors) : factors_(factors) {
    for (const Record* record : records) {
      Levels levels;
      for (const FactorLevels& factor : factors)
        levels.push_back(static_cast<std::size_t>(
            std::find(factor.levels.begin(), factor.levels.end(), value_of(*record, factor.name)) -
            factor.levels.begin()));
      const std::string replicate = value_of(*record, "seed") + "\n" + std::to_string(record->repetition);
      const std::size_t r = replicates_.try_emplace(replicate, replicates_.size()).first->second;
      cells_[levels][r].push_back(record);
    }
  }

  [[nodiscard]] std::size_t replicates() const { return replicates_.size(); }
  [[nodiscard]] const std::map<Levels, std::map<std::size_t, std::vector<const Record*>>>& cells() const {
    return cells_;
  }

  /// Mean of a measure in a setting and replicate; NaN if there is none.
  [[nodiscard]] double value(const Levels& levels, std::size_t replicate, const std::string& measure) const {
    const auto cell = cells_.find(levels);
    if (cell == cells_.end()) return std::nan("");
    const auto found = cell->second.find(replicate);
    if (found == cell->second.end()) return std::nan("");
    double sum = 0;
    for (const Record* record : found->second) sum += record->value(measure);
    return sum / static_cast<double>(found->second.size());
  }

  /// Per replicate the means of both sides of a contrast, over the settings that have both.
  template <class Sides>
  void contrast(const std::string& measure, Sides sides, std::vector<double>& a, std::vector<double>& b) const {
    for (std::size_t r = 0; r < replicates(); ++r) {
      double sum_a = 0, sum_b = 0;
      std::size_t count = 0;
      for (const auto& [levels, cell] : cells_) {
        const auto [one, two] = sides(levels, r, measure);
        if (!std::isfinite(one) || !std::isfinite(two)) continue;
        sum_a += one, sum_b += two, ++count;
      }
      a.push_back(count == 0 ? std::nan("") : sum_a / static_cast<double>(count));
      b.push_back(count == 0 ? std::nan("") : sum_b / static_cast<double>(count));
    }
  }

 private:
  const std::vector<FactorLevels>& factors_;
  std::map<std::string, std::size_t> replicates_;
  std::map<Levels, std::map<std::size_t, std::vector<const Record*>>> cells_;
};

double mean_of(const std::vector<double>& values) { return compare::summarise(compare::without_nan(values)).mean; }

void add_effects(const Grid& grid, std::size_t m, Analysis& out) {
  const std::string measure = run::name_of(measures()[m]);
  for (std::size_t f = 0; f < out.factors.size(); ++f)
    for (std::size_t level = 1; level < out.factors[f].levels.size(); ++level) {
      std::vector<double> a, b;
      grid.contrast(
          measure,
          [&](const Levels& levels, std::size_t r, const std::string& name) {
            if (levels[f] != level) return std::pair(std::nan(""), std::nan(""));
            Levels first = levels;
            first[f] = 0;
            return std::pair(grid.value(levels, r, name), grid.value(first, r, name));
          },
          a, b);
      Effect effect{m, f, level, 0, 0, compare::paired_test(a, b), mean_of(b), mean_of(a)};
      if (effect.test.pairs > 0) out.effects.push_back(effect);
    }
}

void add_interactions(const Grid& grid, std::size_t m, Analysis& out) {
  const std::string measure = run::name_of(measures()[m]);
  for (std::size_t f = 0; f < out.factors.size(); ++f)
    for (std::size_t g = f + 1; g < out.factors.size(); ++g)
      for (std::size_t level = 1; level < out.factors[f].levels.size(); ++level)
        for (std::size_t other = 1; other < out.factors[g].levels.size(); ++other) {
          if (out.interactions.size() >= kInteractionsMax) return;
          std::vector<double> a, b;
          grid.contrast(
              measure,
              [&](const Levels& levels, std::size_t r, const std::string& name) {
                if (levels[f] != level || levels[g] != other) return std::pair(std::nan(""), std::nan(""));
                Levels no_f = levels, no_g = levels, neither = levels;
                no_f[f] = 0, no_g[g] = 0, neither[f] = 0, neither[g] = 0;
                return std::pair(grid.value(levels, r, name) - grid.value(no_f, r, name),
                                 grid.value(no_g, r, name) - grid.value(neither, r, name));
              },
              a, b);
          Effect effect{m, f, level, g, other, compare::paired_test(a, b), 0, 0};
          if (effect.test.pairs > 0) out.interactions.push_back(effect);
        }
}

/// Adjusts all tests together as one family.
void adjust(Analysis& out) {
  std::vector<compare::PairedTest> tests;
  for (const auto* list : {&out.effects, &out.interactions})
    for (const Effect& effect : *list) tests.push_back(effect.test);
  compare::adjust_for_many(tests);
  out.tests = tests.size();
  std::size_t at = 0;
  for (auto* list : {&out.effects, &out.interactions})
    for (Effect& effect : *list) effect.test = tests[at++];
}

void add_settings(const Grid& grid, Analysis& out) {
  std::vector<std::vector<double>> points;
  for (const auto& [levels, cell] : grid.cells()) {
    SettingMeans setting{levels, 0, {}, false};
    for (const auto& [replicate, records] : cell) setting.runs += records.size();
    for (const std::size_t m : out.measures) {
      std::vector<double> values;
      for (std::size_t r = 0; r < grid.replicates(); ++r)
        values.push_back(grid.value(levels, r, run::name_of(measures()[m])));
      setting.summaries.push_back(compare::summarise(compare::without_nan(values)));
    }
    auto& point = points.emplace_back();
    for (const std::size_t o : out.objectives)
      point.push_back(measures()[out.measures[o]].direction * setting.summaries[o].mean);
    out.settings.push_back(std::move(setting));
  }
  const std::vector<bool> front = compare::pareto_front(points);
  for (std::size_t s = 0; s < front.size(); ++s) out.settings[s].front = front[s];
}

}  // namespace

Analysis analyse(const std::vector<Record>& records) {
  Analysis out;
  std::vector<const Record*> used;
  for (const Record& record : records)
    if (record.counts()) used.push_back(&record);
  out.runs = used.size(), out.left_out = records.size() - used.size();
  out.factors = factors_of(used);
  const auto all = measures();
  for (std::size_t m = 0; m < all.size(); ++m) {
    if (!all[m].is_tested()) continue;
    const std::string name = run::name_of(all[m]);
    const bool whole =
        std::all_of(used.begin(), used.end(), [&](const Record* r) { return std::isfinite(r->value(name)); });
    const bool differs = whole && std::any_of(used.begin(), used.end(),
                                              [&](const Record* r) { return r->value(name) != used[0]->value(name); });
    if (!differs) continue;
    if (all[m].direction != 0) out.objectives.push_back(out.measures.size());
    out.measures.push_back(m);
  }
  const Grid grid(used, out.factors);
  out.replicates = grid.replicates();
  for (const std::size_t m : out.measures) add_effects(grid, m, out), add_interactions(grid, m, out);
  adjust(out);
  add_settings(grid, out);
  return out;
}

std::vector<std::size_t> ranking(const Analysis& analysis, std::size_t objective) {
  const int direction = measures()[analysis.measures[objective]].direction;
  std::vector<std::size_t> out(analysis.settings.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    return direction * analysis.settings[a].summaries[objective].mean >
           direction * analysis.settings[b].summaries[objective].mean;
  });
  return out;
}

namespace {

json::Value test_json(const compare::PairedTest& test) {
  const auto number = [](double value) { return std::isfinite(value) ? json::Value(value) : json::Value(); };
  return json::Object{{"pairs", static_cast<std::uint64_t>(test.pairs)},
                      {"difference", number(test.difference)},
                      {"low", number(test.low)},
                      {"high", number(test.high)},
                      {"p", number(test.p)},
                      {"p_adjusted", number(test.p_adjusted)},
                      {"shown", test.shown}};
}

}  // namespace

json::Value to_json(const Analysis& a) {
  const auto all = measures();
  json::Value out = json::Object{{"format", "berth-results"},
                                 {"version", 1},
                                 {"runs", static_cast<std::uint64_t>(a.runs)},
                                 {"left_out", static_cast<std::uint64_t>(a.left_out)},
                                 {"replicates", static_cast<std::uint64_t>(a.replicates)},
                                 {"tests", static_cast<std::uint64_t>(a.tests)}};
  json::Array factors, measures, effects, interactions, settings;
  for (const FactorLevels& factor : a.factors)
    factors.push_back(
        json::Object{{"name", factor.name}, {"levels", json::Array(factor.levels.begin(), factor.levels.end())}});
  for (const std::size_t m : a.measures)
    measures.push_back(json::Object{{"name", run::name_of(all[m])},
                                    {"title", all[m].title},
                                    {"unit", all[m].unit},
                                    {"scale", all[m].scale()},
                                    {"direction", all[m].direction}});
  const auto effect_json = [&](const Effect& e) {
    return json::Object{{"measure", run::name_of(all[e.measure])},
                        {"factor", a.factors[e.factor].name},
                        {"level", a.factors[e.factor].levels[e.level]},
                        {"first", a.factors[e.factor].levels[0]},
                        {"test", test_json(e.test)}};
  };
  for (const Effect& e : a.effects) {
    json::Value one = effect_json(e);
    one.set("mean_first", e.mean_first), one.set("mean_level", e.mean_level);
    effects.push_back(std::move(one));
  }
  for (const Effect& e : a.interactions) {
    json::Value one = effect_json(e);
    one.set("other", a.factors[e.other].name), one.set("other_level", a.factors[e.other].levels[e.other_level]);
    interactions.push_back(std::move(one));
  }
  for (const SettingMeans& s : a.settings) {
    json::Value levels = json::Value::object(), means = json::Value::object();
    for (std::size_t f = 0; f < a.factors.size(); ++f) levels.set(a.factors[f].name, a.factors[f].levels[s.levels[f]]);
    for (std::size_t m = 0; m < a.measures.size(); ++m)
      means.set(
          run::name_of(all[a.measures[m]]),
          json::Object{{"mean", s.summaries[m].mean}, {"low", s.summaries[m].low}, {"high", s.summaries[m].high}});
    settings.push_back(json::Object{{"levels", std::move(levels)},
                                    {"runs", static_cast<std::uint64_t>(s.runs)},
                                    {"front", s.front},
                                    {"means", std::move(means)}});
  }
  json::Array best;
  for (const std::size_t objective : a.objectives) {
    json::Array order;
    for (const std::size_t s : ranking(a, objective)) order.push_back(static_cast<std::uint64_t>(s));
    best.push_back(json::Object{{"measure", run::name_of(all[a.measures[objective]])}, {"settings", std::move(order)}});
  }
  out.set("factors", std::move(factors)), out.set("measures", std::move(measures));
  out.set("effects", std::move(effects)), out.set("interactions", std::move(interactions));
  out.set("settings", std::move(settings)), out.set("best", std::move(best));
  return out;
}

}  // namespace berth::study
