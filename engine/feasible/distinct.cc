#include "feasible/distinct.h"

#include <limits>
#include <optional>

#include "base/text.h"
#include "match/operand.h"

namespace berth::feasible {
namespace {

struct Count {
  std::uint64_t value = 0;
  const char* problem = nullptr;
};

/// Unsigned decimal, not empty, as Go parses it: whatever is met first, an overflow or a byte that is no digit, is the
/// problem.
Count parse_count(std::string_view text) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return {0, "invalid syntax"};
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (kMax - digit) / 10) return {0, "value out of range"};
    value = value * 10 + digit;
  }
  return {value, nullptr};
}

}  // namespace

PropertySet::PropertySet(const model::Constraint& constraint, std::uint32_t group)
    : ltarget_(constraint.ltarget), target_(match::parse_target(constraint.ltarget)), group_(group) {
  if (constraint.rtarget.empty()) return;
  const Count count = parse_count(constraint.rtarget);
  allowed_ = count.value;
  if (!count.problem) return;
  const std::string quoted = base::go_quote(constraint.rtarget);
  error_ =
      "failed to convert RTarget " + quoted + " to uint64: strconv.ParseUint: parsing " + quoted + ": " + count.problem;
}

PropertySet::PropertySet(const std::string& ltarget, std::uint32_t column, std::span<const std::uint32_t> codes)
    : ltarget_(ltarget),
      target_(match::parse_target(ltarget)),
      group_(kWholeJob),
      column_(column),
      members_(1 + (codes.empty() ? 0 : *std::max_element(codes.begin(), codes.end()))) {
  for (const std::uint32_t code : codes) members_[code] = 1;
}

void PropertySet::make_room(std::uint32_t code) {
  if (code < existing_.size()) return;
  existing_.resize(code + 1), proposed_.resize(code + 1), cleared_.resize(code + 1);
}

void PropertySet::add_existing(std::uint32_t code) {
  if (!is_counted(code)) return;
  make_room(code);
  ++existing_[code];
}

void PropertySet::begin_plan() {
  for (const std::uint32_t code : in_plan_) proposed_[code] = cleared_[code] = 0;
  in_plan_.clear();
}

void PropertySet::add_proposed(std::uint32_t code) {
  if (!is_counted(code)) return;
  make_room(code);
  if (proposed_[code] == 0 && cleared_[code] == 0) in_plan_.push_back(code);
  ++proposed_[code];
}

void PropertySet::add_cleared(std::uint32_t code) {
  if (!is_counted(code)) return;
  make_room(code);
  if (proposed_[code] == 0 && cleared_[code] == 0) in_plan_.push_back(code);
  ++cleared_[code];
}

void PropertySet::end_plan(const model::Quirks& quirks) {
  if (!quirks.property_counts_skewed) return;
  for (const std::uint32_t code : in_plan_)
    if (proposed_[code] > 0 && cleared_[code] > 1) --cleared_[code];
}

std::uint64_t PropertySet::used(std::uint32_t code) const {
  if (code >= existing_.size()) return 0;
  const std::uint64_t all = std::uint64_t{existing_[code]} + proposed_[code];
  return all > cleared_[code] ? all - cleared_[code] : 0;
}

std::string PropertySet::reason(std::uint32_t code, std::string_view value) const {
  if (!error_.empty()) return error_;
  if (!is_counted(code)) return "missing property " + base::go_quote(ltarget_);
  if (!members_.empty()) return "gang: " + ltarget_ + '=' + std::string(value) + " is not among its values";
  std::string out = "distinct_property: ";
  out += ltarget_;
  out += '=';
  out += value;
  out += " used by " + std::to_string(used(code)) + " allocs";
  return out;
}

void PropertySets::begin_attempt(std::uint32_t group_count) {
  job_.clear();
  groups_.clear();
  groups_.resize(group_count);
  set_count_ = 0;
}

std::span<PropertySet> PropertySets::append(std::vector<PropertySet>& sets,
                                            std::span<const model::Constraint> constraints, std::uint32_t group) {
  const std::size_t before = sets.size();
  for (const model::Constraint& constraint : constraints)
    if (match::parse_operand(constraint.operand) == match::Operand::distinct_property)
      sets.emplace_back(constraint, group);
  set_count_ += sets.size() - before;
  return std::span(sets).subspan(before);
}

std::span<PropertySet> PropertySets::add_job(std::span<const model::Constraint> constraints) {
  return append(job_, constraints, PropertySet::kWholeJob);
}

std::span<PropertySet> PropertySets::add_group(std::uint32_t group, std::span<const model::Constraint> constraints) {
  if (!groups_[group].empty()) return {};
  return append(groups_[group], constraints, group);
}

}  // namespace berth::feasible
