#include "rank/spread.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/assert.h"

namespace berth::rank {
namespace {

constexpr std::string_view kStar = "*";
constexpr double kNoDesired = std::numeric_limits<double>::quiet_NaN();

/// Code of a value, or kNoValue.
std::uint32_t find_code(std::span<const std::string_view> text, std::span<const std::uint32_t> ascending,
                        std::string_view value) {
  const auto found = std::lower_bound(ascending.begin(), ascending.end(), value,
                                      [&](std::uint32_t code, std::string_view v) { return text[code] < v; });
  return found != ascending.end() && text[*found] == value ? *found : kNoValue;
}

/// R-RANK-817; with the quirk off each stop counts.
std::uint32_t netted(std::uint32_t proposed, std::uint32_t cleared, const model::Quirks& quirks) {
  return quirks.property_counts_skewed && proposed > 0 && cleared > 1 ? cleared - 1 : cleared;
}

}  // namespace

std::uint32_t TextNumbers::add(std::string_view text) {
  if (const std::uint32_t number = find(text); number != kNoValue) return number;
  const std::uint32_t number = size();
  texts_.push_back(text);
  if (texts_.size() == kFew + 1)
    for (std::uint32_t i = 0; i < number; ++i) numbers_.emplace(texts_[i], i);
  if (texts_.size() > kFew) numbers_.emplace(text, number);
  return number;
}

std::uint32_t TextNumbers::find(std::string_view text) const {
  if (texts_.size() > kFew) {
    const auto found = numbers_.find(text);
    return found == numbers_.end() ? kNoValue : found->second;
  }
  const auto found = std::find(texts_.begin(), texts_.end(), text);
  return found == texts_.end() ? kNoValue : static_cast<std::uint32_t>(found - texts_.begin());
}

SpreadEntry::SpreadEntry(const model::Spread& spread, std::int64_t group_count)
    : weight_(spread.weight), star_(kNoDesired) {
  values_.reserve(spread.targets.size() + 1);
  counts_.reserve(spread.targets.size() + 1);
  double sum = 0;
  for (const model::SpreadTarget& target : spread.targets) {
    const double count = (static_cast<double>(target.percent) / 100) * static_cast<double>(group_count);
    set(target.value, count);
    sum += count;
  }
  if (sum > 0 && sum < static_cast<double>(group_count))  // R-RANK-822: replaces an explicit `*`
    set(kStar, static_cast<double>(group_count) - sum);
  if (const std::uint32_t star = values_.find(kStar); star != kNoValue) star_ = counts_[star];
}

/// The last count given for a value wins.
void SpreadEntry::set(std::string_view value, double count) {
  const std::uint32_t number = values_.add(value);
  counts_.resize(values_.size());
  counts_[number] = count;
}

double SpreadEntry::count(std::string_view value) const {
  const std::uint32_t number = values_.find(value);
  return number == kNoValue ? star_ : counts_[number];
}

double even_boost(std::uint64_t current, std::uint64_t min, std::uint64_t max) noexcept {
  const auto least = static_cast<double>(min);
  if (current != min) return min == 0 ? -1.0 : (least - static_cast<double>(current)) / least;
  if (min == max) return -1.0;
  if (min == 0) return 1.0;
  return (static_cast<double>(max) - least) / least;
}

PropertySet::PropertySet(const SpreadProperty& property, std::span<const model::SpreadTarget> targets,
                         const model::Quirks& quirks)
    : code_of_row_(property.code_of_row), ascending_codes_(property.ascending), text_(property.text), quirks_(quirks) {
  BERTH_ASSERT(property.ascending.size() == property.text.size());
  const std::size_t code_count = text_.size();
  if (targets.empty()) {
    counts_.resize(code_count);
  } else {
    for (const model::SpreadTarget& target : targets) key_text_.add(target.value);
    star_key_ = key_text_.add(kStar);
    key_of_code_.assign(code_count, star_key_);
    for (std::uint32_t key = 0; key < key_text_.size(); ++key)
      if (const std::uint32_t code = find_code(text_, ascending_codes_, key_text_[key]); code != kNoValue)
        key_of_code_[code] = key;
    star_code_ = find_code(text_, ascending_codes_, kStar);
    ascending_keys_.resize(key_text_.size());
    for (std::uint32_t key = 0; key < key_text_.size(); ++key) ascending_keys_[key] = key;
    std::sort(ascending_keys_.begin(), ascending_keys_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key_text_[a] < key_text_[b]; });
    counts_.resize(key_text_.size());
    unmapped_.resize(code_count);
  }
  combined_.assign(counts_.size(), kAbsent);
}

void PropertySet::set_entry(const SpreadEntry& entry) {
  weight_ = entry.weight();
  even_ = entry.is_even();
  if (even_) return;
  desired_.assign(counts_.size(), entry.star());
  if (key_text_.size() > 0) {
    for (std::uint32_t key = 0; key < key_text_.size(); ++key) desired_[key] = entry.count(key_text_[key]);
  } else if (entry.size() < text_.size()) {
    for (std::uint32_t i = 0; i < entry.size(); ++i)
      if (const std::uint32_t code = find_code(text_, ascending_codes_, entry.value(i)); code != kNoValue)
        desired_[code] = entry.count(i);
  } else {
    for (std::size_t code = 0; code < text_.size(); ++code) desired_[code] = entry.count(text_[code]);
  }
  cells_.resize(counts_.size());
}

void PropertySet::change(std::uint32_t row, std::uint32_t Counts::*counter, int amount) {
  const std::uint32_t code = code_of_row_[row];
  if (code == kNoValue) return;  // R-RANK-815
  const std::uint32_t key = key_of_code_.empty() ? code : key_of_code_[code];
  Counts& counts = counts_[key];
  const auto change = static_cast<std::uint32_t>(amount);  // modulo 2^32: adding -1 subtracts
  counts.*counter += change;
  if (!unmapped_.empty()) {
    if (counter == &Counts::proposed) unmapped_[code].proposed += change;
    if (counter == &Counts::cleared) unmapped_[code].cleared += change;
  }
  if (phase_ == Phase::mapped) recombine(key, netted(counts.proposed, counts.cleared, quirks_));
}

void PropertySet::count_existing(std::uint32_t row) {
  BERTH_DEBUG_ASSERT(phase_ == Phase::filling);  // R-RANK-813: once, at creation
  change(row, &Counts::existing, 1);
}
void PropertySet::count_proposed(std::uint32_t row, int amount) { change(row, &Counts::proposed, amount); }
void PropertySet::count_cleared(std::uint32_t row, int amount) { change(row, &Counts::cleared, amount); }

void PropertySet::recombine(std::uint32_t key, std::uint32_t cleared) {
  const Counts& counts = counts_[key];
  const std::uint32_t sum = counts.existing + counts.proposed;
  const std::uint32_t none = quirks_.even_spread_unweighted ? 0 : kAbsent;              // R-RANK-835
  const std::uint32_t now = sum == 0 ? kAbsent : sum > cleared ? sum - cleared : none;  // R-RANK-818
  const std::uint32_t before = combined_[key];
  if (now == before) return;
  combined_[key] = now;
  stale_ = true;
  if (!even_) return;  // only even spread needs the extremes
  if (before != kAbsent) --histogram_[before], --occurring_;
  if (now != kAbsent) {
    if (histogram_.size() <= now) histogram_.resize(now + std::size_t{16});
    ++histogram_[now], ++occurring_;
  }
}

void PropertySet::recombine_all() {
  histogram_.assign(histogram_.size(), 0);
  occurring_ = 0;
  std::fill(combined_.begin(), combined_.end(), kAbsent);
  if (phase_ == Phase::first_select && !unmapped_.empty()) {  // R-RANK-816: netted before the values are mapped
    std::vector<std::uint32_t> cleared(counts_.size(), 0);
    for (std::size_t code = 0; code < unmapped_.size(); ++code)
      cleared[key_of_code_[code]] += netted(unmapped_[code].proposed, unmapped_[code].cleared, quirks_);
    for (std::uint32_t key = 0; key < counts_.size(); ++key) recombine(key, cleared[key]);
  } else {
    for (std::uint32_t key = 0; key < counts_.size(); ++key)
      recombine(key, netted(counts_[key].proposed, counts_[key].cleared, quirks_));
  }
  stale_ = true;
}

void PropertySet::begin_select(std::int64_t weight_sum) {
  if (phase_ == Phase::filling) {
    phase_ = Phase::first_select;
    recombine_all();
  } else if (phase_ == Phase::first_select) {
    phase_ = Phase::mapped;
    recombine_all();
    unmapped_ = {};
  }
  if (even_) {
    if (!quirks_.even_spread_unweighted) even_share_ = static_cast<double>(weight_) / static_cast<double>(weight_sum);
    if (stale_) find_extremes();
  } else if (stale_ || weight_sum != cells_weight_sum_) {
    fill_cells(weight_sum);
  }
  stale_ = false;
}

void PropertySet::find_extremes() noexcept {
  min_ = max_ = 0;
  if (occurring_ == 0) return;
  for (max_ = static_cast<std::uint32_t>(histogram_.size() - 1); histogram_[max_] == 0;) --max_;
  if (histogram_[0] == 0) {
    while (histogram_[min_] == 0) ++min_;
    return;
  }
  // R-RANK-835: a value replaces min when min is 0 or the value is smaller, so with a 0 in the map the order decides.
  const std::span<const std::uint32_t> scan = key_of_code_.empty() ? ascending_codes_ : std::span(ascending_keys_);
  for (const std::uint32_t key : scan)
    if (combined_[key] != kAbsent && (min_ == 0 || combined_[key] < min_)) min_ = combined_[key];
}

void PropertySet::fill_cells(std::int64_t weight_sum) {
  cells_weight_sum_ = weight_sum;
  const double share = static_cast<double>(weight_) / static_cast<double>(weight_sum);
  for (std::uint32_t key = 0; key < cells_.size(); ++key) {
    const double desired = desired_[key];
    if (std::isnan(desired)) {
      cells_[key] = {-1.0, Cell::Kind::untargeted};
    } else if (desired == 0) {
      cells_[key] = {0, Cell::Kind::lowest};
    } else {
      const double use = static_cast<double>(used(key)) + 1;
      cells_[key] = {((desired - use) / desired) * share, Cell::Kind::boost};
    }
  }
}

double PropertySet::even_score(std::uint32_t code, std::uint32_t key) const noexcept {
  if (occurring_ == 0) return 0;
  // R-RANK-834 uses the count of the node's own value. A set with targets has merged that value into `*` unless it is
  // listed.
  const std::uint32_t current = key == star_key_ && code != star_code_ ? 0 : used(key);
  return even_boost(current, min_, max_) * even_share_;
}

/// even_score() of every code. Evenly spread values have equal or nearly equal counts. So the boosts of the counts next
/// to the minimum, and that of unused values, are computed once.
void PropertySet::fill_even(std::span<double> by_code) const {
  if (!key_of_code_.empty() || occurring_ == 0) {
    for (std::uint32_t code = 0; code < by_code.size(); ++code)
      by_code[code] = even_score(code, key_of_code_.empty() ? code : key_of_code_[code]);
    return;
  }
  std::array<double, 16> near{};
  const std::uint32_t last = std::min<std::uint32_t>(max_ - min_, near.size() - 1);
  for (std::uint32_t i = 0; i <= last; ++i) near[i] = even_boost(min_ + i, min_, max_) * even_share_;
  const double unused = even_boost(0, min_, max_) * even_share_;
  for (std::uint32_t code = 0; code < by_code.size(); ++code) {
    const std::uint32_t current = combined_[code];
    if (const std::uint32_t above = current - min_; above <= last)  // not of kAbsent, nor of less than min_
      by_code[code] = near[above];
    else
      by_code[code] = current == kAbsent ? unused : even_score(code, code);
  }
}

bool PropertySet::table(std::vector<double>& by_code) const {
  by_code.resize(text_.size() + 1);
  by_code.back() = -1.0;  // the node lacks the attribute
  if (even_) {
    fill_even(std::span(by_code).first(text_.size()));
    return true;
  }
  for (std::uint32_t code = 0; code < text_.size(); ++code) {
    const std::uint32_t key = key_of_code_.empty() ? code : key_of_code_[code];
    if (cells_[key].kind == Cell::Kind::lowest) return false;
    by_code[code] = cells_[key].kind == Cell::Kind::boost ? cells_[key].value : -1.0;
  }
  return true;
}

void SpreadGroup::count_existing(std::uint32_t row) {
  for (PropertySet& set : sets_) set.count_existing(row);
}
void SpreadGroup::count_proposed(std::uint32_t row, int change) {
  for (PropertySet& set : sets_) set.count_proposed(row, change);
}
void SpreadGroup::count_cleared(std::uint32_t row, int change) {
  for (PropertySet& set : sets_) set.count_cleared(row, change);
}

void SpreadState::reset(const model::Quirks& quirks) noexcept {
  quirks_ = quirks;
  groups_.clear();
  weight_sum_ = 0;
  lowest_boost_ = -1.0;
}

SpreadGroup* SpreadState::find(std::uint32_t group) noexcept {
  for (const Prepared& prepared : groups_)
    if (prepared.group == group) return prepared.sets.get();
  return nullptr;
}

SpreadGroup& SpreadState::prepare(std::uint32_t group, std::span<const model::Spread> job_spreads,
                                  std::span<const model::Spread> group_spreads, std::int64_t group_count,
                                  std::span<const SpreadProperty> properties) {
  BERTH_ASSERT(find(group) == nullptr && properties.size() == job_spreads.size() + group_spreads.size());
  groups_.push_back({group, std::make_unique<SpreadGroup>()});
  SpreadGroup& out = *groups_.back().sets;
  std::vector<PropertySet>& sets = out.sets_;
  sets.reserve(properties.size());
  const auto spread = [&](std::size_t i) -> const model::Spread& {
    return i < job_spreads.size() ? job_spreads[i] : group_spreads[i - job_spreads.size()];
  };
  for (std::size_t i = 0; i < properties.size(); ++i) sets.emplace_back(properties[i], spread(i).targets, quirks_);

  // The target table (R-RANK-821): group-level spreads, then job-level ones; a later one of the same attribute wins.
  const std::size_t first_group_spread = job_spreads.size();
  TextNumbers attributes;
  std::vector<std::uint32_t> attribute_of(properties.size());
  std::vector<std::size_t> winner;  // by attribute
  for (std::size_t n = 0; n < properties.size(); ++n) {
    const std::size_t i = (first_group_spread + n) % properties.size();
    weight_sum_ += spread(i).weight;
    out.weight_sum_ += spread(i).weight;
    attribute_of[i] = attributes.add(spread(i).attribute);
    winner.resize(attributes.size());
    winner[attribute_of[i]] = i;
  }
  std::vector<SpreadEntry> entries;
  entries.reserve(winner.size());
  for (const std::size_t i : winner) entries.emplace_back(spread(i), group_count);
  for (std::size_t i = 0; i < sets.size(); ++i) sets[i].set_entry(entries[attribute_of[i]]);
  return out;
}

void SpreadState::begin_select(SpreadGroup& group) {
  const bool grows = quirks_.spread_state_grows;
  if (!grows) lowest_boost_ = -1.0;
  for (PropertySet& set : group.sets_) set.begin_select(grows ? weight_sum_ : group.weight_sum_);
}

}  // namespace berth::rank
