// Spread: property sets, target tables and the `allocation-spread` component (R-RANK-811 to 836).
//
// Values are integers here. The caller has, per attribute target, a column node row -> code (kNoValue if the target
// does not resolve) and the texts of the codes. A set folds codes into *keys*. With explicit targets there is one key
// per target value and one for `*`, which stands for all other values (R-RANK-816). Without targets a key is a code.
//
//   per attempt   SpreadState   weight sum and lowest boost, which outlive groups and Selects, and the groups
//   per group     SpreadGroup   its property sets, job-level ones first (R-RANK-811)
//   per set       by code: key_of_code; by key: counts (existing, proposed, cleared, combined), desired, cell
//
// Use of a group within one attempt:
//   group = state.find(g)                      or, at the first Select of the group:
//   group = state.prepare(g, ...)              then, per alloc of the job, count_existing (R-RANK-813) and, per entry
//                                              of the plan so far, count_proposed or count_cleared
//   state.begin_select(*group)                 once per Select, the preferred-node pass included (R-RANK-212)
//   state.score(*group, row)                   once per node that reaches the stage, in visiting order
//   plan changes between Selects:              group->count_proposed(row, +1 or -1), count_cleared(row, +1 or -1)
// A plan change costs O(1) per set, a Select O(targets), a node one lookup per set. The one exception is R-RANK-835
// with a count of 0 in the map: the minimum then needs a scan of all values, once per Select. An object belongs to one
// evaluation and is not shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/quirks.h"
#include "model/resources.h"

namespace berth::rank {

inline constexpr std::uint32_t kNoValue = UINT32_MAX;  ///< the node lacks the attribute

/// The values of one attribute target over all nodes of the snapshot; the spans outlive the attempt.
struct SpreadProperty {
  std::span<const std::uint32_t> code_of_row;  ///< node row -> code, or kNoValue
  std::span<const std::string_view> text;      ///< code -> value
  std::span<const std::uint32_t> ascending;    ///< every code once, in ascending byte order of its text
};

/// Even-spread boost of a value used `current` times if the least used value has `min` and the most used `max` uses
/// (R-RANK-834); `min` is defined by R-RANK-835.
[[nodiscard]] double even_boost(std::uint64_t current, std::uint64_t min, std::uint64_t max) noexcept;

/// Numbers texts in order of first appearance. A few texts are compared one by one; more are hashed.
class TextNumbers {
 public:
  void reserve(std::size_t size) { texts_.reserve(size); }
  std::uint32_t add(std::string_view text);
  [[nodiscard]] std::uint32_t find(std::string_view text) const;  ///< kNoValue: it was not added
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }
  std::string_view operator[](std::uint32_t number) const { return texts_[number]; }

 private:
  static constexpr std::size_t kFew = 16;
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;  // of more than kFew
};

/// An entry of the target table (R-RANK-821, 822): desired counts by value; none means even spread.
class SpreadEntry {
 public:
  SpreadEntry(const model::Spread& spread, std::int64_t group_count);

  [[nodiscard]] std::int64_t weight() const { return weight_; }
  [[nodiscard]] bool is_even() const { return values_.size() == 0; }
  [[nodiscard]] std::uint32_t size() const { return values_.size(); }
  [[nodiscard]] std::string_view value(std::uint32_t i) const { return values_[i]; }
  [[nodiscard]] double count(std::uint32_t i) const { return counts_[i]; }
  /// Count of the value, else of `*`; NaN if neither has one.
  [[nodiscard]] double count(std::string_view value) const;
  [[nodiscard]] double star() const { return star_; }

 private:
  void set(std::string_view value, double count);

  std::int64_t weight_;
  TextNumbers values_;
  std::vector<double> counts_;
  double star_;
};

/// The use counts and targets of one spread block.
class PropertySet {
 public:
  PropertySet(const SpreadProperty& property, std::span<const model::SpreadTarget> targets,
              const model::Quirks& quirks = {});

  void count_existing(std::uint32_t row);
  void count_proposed(std::uint32_t row, int change);
  void count_cleared(std::uint32_t row, int change);

  /// The entry of the target table for this set's attribute.
  void set_entry(const SpreadEntry& entry);

  /// Makes the combined counts of R-RANK-818 current, and updates the cells to the weight sum.
  void begin_select(std::int64_t weight_sum);

  /// Contribution of a node to the total (R-RANK-831 steps 1 to 7); lowers `lowest_boost` as in step 7.
  [[nodiscard]] double score(std::uint32_t row, double& lowest_boost) const noexcept {
    const std::uint32_t code = code_of_row_[row];
    if (code == kNoValue) return -1.0;
    const std::uint32_t key = key_of_code_.empty() ? code : key_of_code_[code];
    if (even_) return even_score(code, key);
    const Cell& cell = cells_[key];
    if (cell.kind == Cell::Kind::boost) {
      if (cell.value < lowest_boost) lowest_boost = cell.value;
      return cell.value;
    }
    return cell.kind == Cell::Kind::lowest ? lowest_boost : -1.0;
  }

  /// even(set, node) alone (R-RANK-834). An empty map gives 0 before the node's value is read. In a Select a node
  /// without the attribute never gets here (R-RANK-831 step 1).
  [[nodiscard]] double even(std::uint32_t row) const noexcept {
    if (occurring_ == 0) return 0;
    const std::uint32_t code = code_of_row_[row];
    return code == kNoValue ? -1.0 : even_score(code, key_of_code_.empty() ? code : key_of_code_[code]);
  }

  /// Writes the contribution of a node per code, last that of a node without the attribute. Returns false if the result
  /// depends on the nodes scored before, because some value's score is the lowest boost so far (R-RANK-831 step 6);
  /// `by_code` is then incomplete.
  [[nodiscard]] bool table(std::vector<double>& by_code) const;
  [[nodiscard]] std::uint32_t code_of_row(std::uint32_t row) const noexcept { return code_of_row_[row]; }
  /// True without targets: the contribution is then not a boost.
  [[nodiscard]] bool is_even() const noexcept { return even_; }

 private:
  struct Cell {
    enum class Kind : std::uint8_t { untargeted, lowest, boost };
    double value = 0;
    Kind kind = Kind::untargeted;
  };
  // By key. A key occurs in the combined map iff existing + proposed > 0 (R-RANK-818).
  struct Counts {
    std::uint32_t existing = 0, proposed = 0, cleared = 0;
  };
  // By code, only until the second Select of a set with targets: R-RANK-816 nets the first Select before mapping.
  struct Unmapped {
    std::uint32_t proposed = 0, cleared = 0;
  };
  enum class Phase : std::uint8_t { filling, first_select, mapped };

  static constexpr std::uint32_t kAbsent = UINT32_MAX;  // combined_: the key does not occur in the map

  [[nodiscard]] std::uint32_t used(std::uint32_t key) const noexcept {
    return combined_[key] == kAbsent ? 0 : combined_[key];
  }
  [[nodiscard]] double even_score(std::uint32_t code, std::uint32_t key) const noexcept;
  void fill_even(std::span<double> by_code) const;
  void change(std::uint32_t row, std::uint32_t Counts::*counter, int amount);
  void recombine(std::uint32_t key, std::uint32_t cleared);
  void recombine_all();
  void find_extremes() noexcept;
  void fill_cells(std::int64_t weight_sum);

  std::span<const std::uint32_t> code_of_row_;
  std::span<const std::uint32_t> ascending_codes_;  // scan order without targets
  std::vector<std::uint32_t> key_of_code_;          // empty: a key is a code
  std::span<const std::string_view> text_;          // by code
  TextNumbers key_text_;                            // with targets: by key
  std::vector<std::uint32_t> ascending_keys_;       // scan order with targets
  std::uint32_t star_key_ = kNoValue;               // with targets
  std::uint32_t star_code_ = kNoValue;              // a node value that is itself "*"

  std::vector<Counts> counts_;
  std::vector<Unmapped> unmapped_;
  std::vector<std::uint32_t> combined_;   // or kAbsent
  std::vector<std::uint32_t> histogram_;  // count -> keys of the map with that combined count
  std::uint32_t occurring_ = 0;           // keys of the map
  std::uint32_t min_ = 0, max_ = 0;       // by the rule of R-RANK-835
  Phase phase_ = Phase::filling;

  model::Quirks quirks_;
  double even_share_ = 1;  // of the weight sum; 1 while even spread is not weighted (R-RANK-831 step 4)
  bool even_ = true;
  bool stale_ = true;  // a count changed since cells, or min and max, were computed
  std::int64_t weight_ = 0, cells_weight_sum_ = 0;
  std::vector<double> desired_;  // by key; NaN if neither the value nor `*` has one
  std::vector<Cell> cells_;
};

/// The property sets of one group.
class SpreadGroup {
 public:
  /// Counts one alloc of this group on node `row`, in every set. R-RANK-813 defines *existing* allocs (counted once,
  /// after prepare), R-RANK-814 the *proposed* and *cleared* plan entries.
  void count_existing(std::uint32_t row);
  void count_proposed(std::uint32_t row, int change);
  void count_cleared(std::uint32_t row, int change);

  [[nodiscard]] bool empty() const noexcept { return sets_.empty(); }
  [[nodiscard]] std::span<const PropertySet> sets() const noexcept { return sets_; }

 private:
  friend class SpreadState;
  std::vector<PropertySet> sets_;
  std::int64_t weight_sum_ = 0;  // of this group alone
};

/// The spread state of one attempt (R-RANK-214, 215, 823, 832).
class SpreadState {
 public:
  /// Starts a new attempt: no groups, weight sum 0, lowest boost -1. Relevant quirks: spread_state_grows,
  /// even_spread_unweighted and property_counts_skewed. With the last one off, the caller must clear only what was
  /// counted, and must not count allocations again that the plan updates.
  void reset(const model::Quirks& quirks = {}) noexcept;
  /// For another job version: drops the groups, keeps weight sum and lowest boost (R-RANK-215).
  void drop_groups() noexcept { groups_.clear(); }

  /// The group prepared under `group` (the caller's number for a group name), or null.
  [[nodiscard]] SpreadGroup* find(std::uint32_t group) noexcept;

  /// Builds sets and target table of a group and adds its weights to the weight sum (R-RANK-811, 821 to 823).
  /// `properties`: one per job-level spread, then one per group-level spread. `group_count` is the group's Count.
  SpreadGroup& prepare(std::uint32_t group, std::span<const model::Spread> job_spreads,
                       std::span<const model::Spread> group_spreads, std::int64_t group_count,
                       std::span<const SpreadProperty> properties);

  void begin_select(SpreadGroup& group);

  /// The total of R-RANK-831 for a node; appended and logged iff it is not exactly 0 (R-RANK-833).
  [[nodiscard]] double score(const SpreadGroup& group, std::uint32_t row) noexcept {
    double total = 0.0;
    for (const PropertySet& set : group.sets_) total += set.score(row, lowest_boost_);
    return total;
  }
  /// Call for each scored node if the contributions of sets with targets come from table(): records the node's boost.
  void note_boost(double boost) noexcept { lowest_boost_ = boost < lowest_boost_ ? boost : lowest_boost_; }

 private:
  struct Prepared {
    std::uint32_t group;
    std::unique_ptr<SpreadGroup> sets;
  };
  std::vector<Prepared> groups_;  // few: one per group with a Select in this attempt
  std::int64_t weight_sum_ = 0;
  double lowest_boost_ = -1.0;
  model::Quirks quirks_;
};

}  // namespace berth::rank
