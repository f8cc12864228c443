#include "rank/spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace berth::rank {
namespace {

/// One node per value; "" = the node lacks the attribute. Codes are in reverse order of appearance, so that neither
/// rows nor codes happen to be in byte order.
class Column {
 public:
  explicit Column(std::vector<std::string> value_of_row) : values_(std::move(value_of_row)) {
    for (auto v = values_.rbegin(); v != values_.rend(); ++v)
      if (!v->empty() && std::find(text_.begin(), text_.end(), *v) == text_.end()) text_.push_back(*v);
    for (const std::string& v : values_)
      codes_.push_back(
          v.empty() ? kNoValue : static_cast<std::uint32_t>(std::find(text_.begin(), text_.end(), v) - text_.begin()));
    ascending_.resize(text_.size());
    std::iota(ascending_.begin(), ascending_.end(), 0u);
    std::sort(ascending_.begin(), ascending_.end(), [&](auto a, auto b) { return text_[a] < text_[b]; });
  }
  Column(const Column&) = delete;  // the texts point into values_
  Column& operator=(const Column&) = delete;
  [[nodiscard]] SpreadProperty view() const { return {codes_, text_, ascending_}; }
  [[nodiscard]] const std::vector<std::string>& values() const { return values_; }

 private:
  std::vector<std::string> values_;
  std::vector<std::string_view> text_;
  std::vector<std::uint32_t> codes_, ascending_;
};

void existing(SpreadGroup& group, std::uint32_t row, int times) {
  for (int i = 0; i < times; ++i) group.count_existing(row);
}

TEST(TargetedSpread, GivesExampleE10) {
  const Column dc({"dc1", "dc2"});
  const std::vector<model::Spread> spreads = {{"${node.datacenter}", 100, {{"dc1", 80}}}};
  SpreadState state;
  SpreadGroup& group = state.prepare(0, {}, spreads, 10, std::vector{dc.view()});
  existing(group, 0, 2);
  state.begin_select(group);
  EXPECT_EQ(state.score(group, 0), 0.625);
  EXPECT_EQ(state.score(group, 1), 0.5);  // the implicit `*` of 2
}

TEST(TargetedSpread, WeighsTwoSpreadsAsInExampleE10) {
  const Column dc({"dc1", "dc2", "dc1", "dc1", "dc2"}), rack({"r1", "r1", "r2", "", "r2"});
  const std::vector<model::Spread> spreads = {{"${node.datacenter}", 100, {{"dc1", 60}, {"dc2", 40}}},
                                              {"${meta.rack}", 50, {{"r1", 40}, {"r2", 60}}}};
  SpreadState state;
  SpreadGroup& group = state.prepare(0, {}, spreads, 10, std::vector{dc.view(), rack.view()});
  existing(group, 0, 1);  // dc1 r1
  existing(group, 2, 1);  // dc1 r2
  state.begin_select(group);
  EXPECT_EQ(state.score(group, 0), 0.5);
  EXPECT_EQ(state.score(group, 1), 0.66666666666666663);
  EXPECT_EQ(state.score(group, 2), 0.55555555555555558);
  EXPECT_EQ(state.score(group, 3), (6.0 - 3) / 6 * (100.0 / 150) - 1);  // no rack: -1, not weighted
}

TEST(TextNumbers, FewAreSearchedAndManyHashed) {
  TextNumbers numbers;
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.push_back("value" + std::to_string(i));
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(numbers.find(texts[i]), kNoValue);
    EXPECT_EQ(numbers.add(texts[i]), i);
    EXPECT_EQ(numbers.size(), i + 1);
    for (std::uint32_t known = 0; known <= i; ++known) {
      EXPECT_EQ(numbers.find(texts[known]), known);
      EXPECT_EQ(numbers.add(texts[known]), known);
    }
  }
}

TEST(TargetedSpread, MayHaveManyTargets) {  // R-RANK-821, 822: 20 targets of 4 %, and 20 % for the rest
  std::vector<std::string> values;
  std::vector<model::SpreadTarget> targets;
  for (int i = 0; i < 20; ++i) values.push_back("rack" + std::to_string(i)), targets.push_back({values.back(), 4});
  values.emplace_back("other");
  const Column rack(values);
  const std::vector<model::Spread> spreads = {{"${meta.rack}", 100, targets}};
  SpreadState state;
  SpreadGroup& group = state.prepare(0, {}, spreads, 100, std::vector{rack.view()});
  existing(group, 3, 1), existing(group, 20, 9);
  state.begin_select(group);
  for (std::uint32_t row = 0; row < 20; ++row) EXPECT_EQ(state.score(group, row), row == 3 ? 0.5 : 0.75) << row;
  EXPECT_EQ(state.score(group, 20), 0.5);
}

TEST(TargetedSpread, TakesTheLowestBoostSeenSoFar) {  // R-RANK-831 step 6, 832; example E10
  const Column dc({"dc1", "dc2", "dc3"});
  const std::vector<model::Spread> spreads = {{"${node.datacenter}", 100, {{"dc1", 99}, {"dc2", 1}, {"*", 0}}}};
  SpreadState state;
  SpreadGroup& group = state.prepare(0, {}, spreads, 8, std::vector{dc.view()});
  state.begin_select(group);
  EXPECT_EQ(state.score(group, 2), -1);
  EXPECT_EQ(state.score(group, 0), 0.8737373737373737);
  EXPECT_EQ(state.score(group, 1), -11.5);
  EXPECT_EQ(state.score(group, 2), -11.5);
  state.begin_select(group);
  EXPECT_EQ(state.score(group, 2), -11.5);  // the next Select keeps the lowest boost
  state.drop_groups();
  SpreadGroup& again = state.prepare(0, {}, spreads, 8, std::vector{dc.view()});
  state.begin_select(again);
  EXPECT_EQ(state.score(again, 2), -11.5);  // R-RANK-215
  state.reset(model::Quirks::none());
  SpreadGroup& anew = state.prepare(0, {}, spreads, 8, std::vector{dc.view()});
  state.begin_select(anew);
  EXPECT_EQ(state.score(anew, 2), -1);
  EXPECT_EQ(state.score(anew, 1), -11.5);
  state.begin_select(anew);
  EXPECT_EQ(state.score(anew, 2), -1);  // without the quirk every Select starts at -1
}

TEST(TargetedSpread, SharesTheWeightSumBetweenGroups) {  // R-RANK-823, example E11
  const Column dc({"dc1"});
  const std::vector<model::Spread> spreads = {{"${node.datacenter}", 50, {{"dc1", 100}}}};
  SpreadState state;
  SpreadGroup& a = state.prepare(0, {}, spreads, 5, std::vector{dc.view()});
  state.begin_select(a);
  EXPECT_EQ(state.score(a, 0), 0.8);
  SpreadGroup& b = state.prepare(1, {}, spreads, 5, std::vector{dc.view()});
  state.begin_select(b);
  EXPECT_EQ(state.score(b, 0), 0.4);
  state.begin_select(a);
  EXPECT_EQ(state.score(a, 0), 0.4);
  EXPECT_EQ(state.find(1), &b);
  EXPECT_EQ(state.find(2), nullptr);
  state.reset(model::Quirks::none());  // separately for each group
  SpreadGroup& c = state.prepare(0, {}, spreads, 5, std::vector{dc.view()});
  SpreadGroup& d = state.prepare(1, {}, spreads, 5, std::vector{dc.view()});
  for (SpreadGroup* group : {&c, &d, &c}) {
    state.begin_select(*group);
    EXPECT_EQ(state.score(*group, 0), 0.8);
  }
}

TEST(EvenSpread, GivesExampleE13) {
  const Column dc({"dc1", "dc2", "dc3", ""});
  const std::vector<model::Spread> spreads = {{"${node.datacenter}", 50, {}}};
  struct Case {
    int dc1, dc2;
    double score[4];
  };
  for (const Case& c : {Case{0, 0, {0, 0, 0, -1}}, Case{2, 0, {-1, 1, 1, -1}}, Case{2, 3, {0.5, -0.5, 1, -1}},
                        Case{3, 3, {-1, -1, 1, -1}}}) {
    SpreadState state;
    SpreadGroup& group = state.prepare(0, spreads, {}, 10, std::vector{dc.view()});
    existing(group, 0, c.dc1), existing(group, 1, c.dc2);
    state.begin_select(group);
    for (std::uint32_t row = 0; row < 4; ++row)
      EXPECT_EQ(state.score(group, row), c.score[row]) << c.dc1 << " " << c.dc2 << " row " << row;
  }
}

TEST(EvenSpread, ChecksForAnEmptyMapFirst) {  // R-RANK-834; in a Select R-RANK-831 step 1 comes before
  const Column rack({"a", ""});
  const std::vector<model::Spread> spreads = {{"${meta.rack}", 50, {}}};
  SpreadState state;
  SpreadGroup& group = state.prepare(0, spreads, {}, 10, std::vector{rack.view()});
  state.begin_select(group);
  EXPECT_EQ(group.sets().front().even(0), 0);
  EXPECT_EQ(group.sets().front().even(1), 0);
  EXPECT_EQ(state.score(group, 1), -1);
  group.count_proposed(0, 1);
  state.begin_select(group);
  EXPECT_EQ(group.sets().front().even(0), state.score(group, 0));
  EXPECT_EQ(group.sets().front().even(1), -1);
}

TEST(EvenSpread, ScansZeroCountsInByteOrder) {  // R-RANK-835
  const Column rack({"b", "a", "c"});
  const std::vector<model::Spread> spreads = {{"${meta.rack}", 50, {}}};
  model::Quirks quirks;
  const auto score_of_c = [&](int a, int b, int c) {  // negative: one use, cleared
    SpreadState state;
    state.reset(quirks);
    SpreadGroup& group = state.prepare(0, spreads, {}, 10, std::vector{rack.view()});
    const int uses[] = {b, a, c};
    for (std::uint32_t row = 0; row < 3; ++row) {
      existing(group, row, std::max(uses[row], 1));
      if (uses[row] == 0) group.count_cleared(row, 1);
    }
    state.begin_select(group);
    return state.score(group, 2);
  };
  EXPECT_EQ(score_of_c(0, 4, 6), even_boost(6, 4, 6));  // min starts again after the zero of a
  EXPECT_EQ(score_of_c(4, 6, 0), 1);                    // a zero met last is the minimum
  EXPECT_EQ(score_of_c(4, 0, 6), even_boost(6, 6, 6));
  quirks.even_spread_unweighted = false;  // without zero counts, whatever their position
  EXPECT_EQ(score_of_c(0, 4, 6), even_boost(6, 4, 6));
  EXPECT_EQ(score_of_c(4, 6, 0), even_boost(0, 4, 6));
  EXPECT_EQ(score_of_c(4, 0, 6), even_boost(6, 4, 6));
}

TEST(EvenSpread, HasItsShareOfTheWeightsWithoutTheQuirk) {  // R-RANK-831 step 4: 25 of 100
  const Column dc({"dc1", "dc2", "dc3", ""});
  const std::vector<model::Spread> spreads = {{"${node.datacenter}", 25, {}}, {"${meta.none}", 75, {}}};
  const Column none({"x", "y", "z", ""});
  for (const bool fixed : {false, true}) {
    model::Quirks quirks;
    quirks.even_spread_unweighted = !fixed;
    SpreadState state;
    state.reset(quirks);
    SpreadGroup& group = state.prepare(0, spreads, {}, 10, std::vector{dc.view(), none.view()});
    group.count_existing(3);  // no attribute
    group.count_proposed(0, 1), group.count_proposed(0, 1);
    state.begin_select(group);
    EXPECT_EQ(state.score(group, 0), fixed ? -0.25 - 0.75 : -2);
    EXPECT_EQ(state.score(group, 1), fixed ? 0.25 + 0.75 : 2);
    EXPECT_EQ(state.score(group, 3), -2);  // the attribute is missing: not weighted in either
  }
}

// R-RANK-811 to 836 with maps of texts, recomputed from the lists at every Select, literally by the rules.
class PlainSpread {
 public:
  struct Alloc {
    std::uint32_t row;
  };
  struct Set {
    const Column* column;
    const model::Spread* spread;
    std::map<std::string, std::uint64_t> existing, combined;
    bool created = false;
  };
  explicit PlainSpread(bool fixed) : fixed_(fixed) {}
  void prepare(const std::vector<model::Spread>& job, const std::vector<model::Spread>& group, double count,
               const std::vector<const Column*>& columns) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      sets_.push_back({columns[i], i < job.size() ? &job[i] : &group[i - job.size()], {}, {}, false});
    for (const std::vector<model::Spread>* list : {&group, &job})
      for (const model::Spread& s : *list) {
        Entry entry{s.weight, {}};
        double sum = 0;
        for (const model::SpreadTarget& t : s.targets)
          sum += entry.desired[t.value] = (static_cast<double>(t.percent) / 100) * count;
        if (sum > 0 && sum < count) entry.desired["*"] = count - sum;
        table_[s.attribute] = entry;
        weight_sum_ += s.weight;
      }
  }
  void begin_select(const std::vector<Alloc>& existing, const std::vector<Alloc>& placed,
                    const std::vector<Alloc>& stopped) {
    for (Set& set : sets_) {
      std::map<std::string, std::uint64_t> proposed, cleared;
      const auto fill = [&](auto& map, const std::vector<Alloc>& list, bool mapped) {
        for (const Alloc& a : list)
          if (const std::string& v = set.column->values()[a.row]; !v.empty()) ++map[mapped ? key(set, v) : v];
      };
      if (!set.created) fill(set.existing, existing, false);
      fill(proposed, placed, set.created), fill(cleared, stopped, set.created);
      set.created = true;
      for (const auto& [value, n] : proposed)
        if (const auto c = cleared.find(value); c != cleared.end() && c->second > 1 && !fixed_) --c->second;
      set.combined.clear();
      for (const auto& [value, n] : set.existing) set.combined[key(set, value)] += n;
      for (const auto& [value, n] : proposed) set.combined[key(set, value)] += n;
      for (const auto& [value, n] : cleared)
        if (const auto c = set.combined.find(key(set, value)); c != set.combined.end())
          c->second -= std::min(c->second, n);
      if (fixed_) std::erase_if(set.combined, [](const auto& entry) { return entry.second == 0; });
    }
    if (fixed_) lowest_boost_ = -1.0;
  }
  double score(std::uint32_t row) {
    double total = 0;
    for (const Set& set : sets_) {
      const std::string& own = set.column->values()[row];
      if (own.empty()) {
        total -= 1.0;
        continue;
      }
      const auto use = [&](const std::string& v) {
        const auto found = set.combined.find(v);
        return found == set.combined.end() ? 0 : found->second;
      };
      const std::string v = key(set, own);
      const Entry& entry = table_.at(set.spread->attribute);
      if (entry.desired.empty()) {
        if (set.combined.empty()) continue;
        std::uint64_t min = 0, max = 0;
        for (const auto& [value, n] : set.combined) {
          if (min == 0 || n < min) min = n;
          max = std::max(max, n);
        }
        const double share = static_cast<double>(entry.weight) / static_cast<double>(weight_sum_);
        total += fixed_ ? even_boost(use(own), min, max) * share : even_boost(use(own), min, max);
        continue;
      }
      auto desired = entry.desired.find(v);
      if (desired == entry.desired.end()) desired = entry.desired.find("*");
      if (desired == entry.desired.end()) {
        total -= 1.0;
      } else if (desired->second == 0) {
        total += lowest_boost_;
      } else {
        const double d = desired->second;
        const double boost = ((d - static_cast<double>(use(v) + 1)) / d) *
                             (static_cast<double>(entry.weight) / static_cast<double>(weight_sum_));
        total += boost;
        if (boost < lowest_boost_) lowest_boost_ = boost;
      }
    }
    return total;
  }

 private:
  struct Entry {
    std::int64_t weight;
    std::map<std::string, double> desired;
  };
  static std::string key(const Set& set, const std::string& v) {
    if (set.spread->targets.empty()) return v;
    for (const model::SpreadTarget& t : set.spread->targets)
      if (t.value == v) return v;
    return "*";
  }
  bool fixed_;
  std::vector<Set> sets_;
  std::map<std::string, Entry> table_;
  std::int64_t weight_sum_ = 0;
  double lowest_boost_ = -1.0;
};

TEST(SpreadState, AgreesWithTheRulesOnRandomAttempts) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    const char* const values[] = {"", "a", "b", "c", "*", "d!", "zz"};
    const std::size_t rows = 1 + below(12);
    const auto column = [&] {
      std::vector<std::string> out;
      for (std::size_t i = 0; i < rows; ++i) out.emplace_back(values[below(7)]);
      return Column(out);
    };
    const Column x = column(), y = column();
    const Column* const columns[] = {&x, &y};
    const char* const attributes[] = {"${meta.x}", "${meta.y}"};
    std::vector<model::Spread> job, group;
    std::vector<const Column*> used;
    std::vector<SpreadProperty> properties;
    for (std::vector<model::Spread>* list : {&job, &group})
      for (std::uint32_t n = below(3); n-- > 0;) {
        const std::uint32_t attribute = below(2);
        model::Spread spread{attributes[attribute], static_cast<std::int8_t>(1 + below(100)), {}};
        if (below(3) != 0)
          for (const char* v : {"b", "*", "d!", "nowhere", "a"})
            if (below(2)) spread.targets.push_back({v, static_cast<std::uint8_t>(below(3) * 15)});
        list->push_back(spread);
        used.push_back(columns[attribute]);
        properties.push_back(columns[attribute]->view());
      }
    const std::int64_t count = 1 + below(9);
    const bool fixed = seed % 3 == 0;
    SpreadState state;
    state.reset(fixed ? model::Quirks::none() : model::Quirks());
    PlainSpread plain(fixed);
    SpreadGroup& fast = state.prepare(7, job, group, count, properties);
    plain.prepare(job, group, static_cast<double>(count), used);
    std::vector<PlainSpread::Alloc> existing_allocs, placed, stopped;
    for (std::uint32_t n = below(10); n-- > 0;) {
      existing_allocs.push_back({below(rows)});
      fast.count_existing(existing_allocs.back().row);
    }
    const auto place = [&] { placed.push_back({below(rows)}), fast.count_proposed(placed.back().row, 1); };
    const auto stop = [&] { stopped.push_back({below(rows)}), fast.count_cleared(stopped.back().row, 1); };
    for (std::uint32_t n = below(5); n-- > 0;) below(2) ? place() : stop();
    for (int select = 0; select < 6; ++select) {
      state.begin_select(fast);
      plain.begin_select(existing_allocs, placed, stopped);
      for (std::size_t visit = 0; visit < rows; ++visit) {
        const std::uint32_t row = below(rows);
        ASSERT_EQ(state.score(fast, row), plain.score(row))
            << "seed " << seed << " select " << select << " row " << row;
      }
      for (const PropertySet& set : fast.sets()) {  // all nodes at once, if none depends on those before
        std::vector<double> by_code;
        if (!set.table(by_code)) continue;
        double lowest = -1.0;
        for (std::uint32_t row = 0; row < rows; ++row)
          ASSERT_EQ(by_code[std::min<std::size_t>(set.code_of_row(row), by_code.size() - 1)], set.score(row, lowest))
              << "seed " << seed << " select " << select << " row " << row;
      }
      for (std::uint32_t n = below(3) + 20 * (below(8) == 0); n-- > 0;) below(2) ? place() : stop();
      if (!stopped.empty() && below(4) == 0) fast.count_cleared(stopped.back().row, -1), stopped.pop_back();
      if (!placed.empty() && below(4) == 0) fast.count_proposed(placed.back().row, -1), placed.pop_back();
    }
  }
}

}  // namespace
}  // namespace berth::rank
