#include "feasible/class_cache.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::feasible {

void ClassCache::begin_attempt(std::uint32_t class_count, std::uint32_t group_count) {
  clear_verdicts();
  class_count_ = class_count;
  job_escapes_ = false;
  job_.resize(class_count);
  is_touched_.resize(class_count);
  group_.resize(std::size_t{group_count} * class_count);
  group_escapes_.assign(group_count, 0);
}

void ClassCache::add_groups(std::uint32_t group_count) {
  if (group_count <= group_escapes_.size()) return;
  group_.resize(std::max(group_.size(), std::size_t{group_count} * class_count_));
  group_escapes_.resize(group_count);
}

void ClassCache::clear_verdicts() {
  for (const std::uint32_t class_id : touched_) {
    job_[class_id] = 0;
    is_touched_[class_id] = 0;
    for (std::uint32_t group = 0; group < group_escapes_.size(); ++group) group_[index(group, class_id)] = 0;
  }
  touched_.clear();
}

bool ClassCache::has_escaped() const {
  return job_escapes_ || std::find(group_escapes_.begin(), group_escapes_.end(), 1) != group_escapes_.end();
}

void ClassCache::touch(std::uint32_t class_id) {
  BERTH_DEBUG_ASSERT(class_id < class_count_);
  if (is_touched_[class_id]) return;
  is_touched_[class_id] = 1;
  touched_.push_back(class_id);
}

void ClassCache::set_job(std::uint32_t class_id, bool eligible) {
  touch(class_id);
  job_[class_id] = static_cast<Verdict>(eligible ? ClassStatus::eligible : ClassStatus::ineligible);
}

void ClassCache::set_group(std::uint32_t group, std::uint32_t class_id, bool eligible) {
  touch(class_id);
  group_[index(group, class_id)] = static_cast<Verdict>(eligible ? ClassStatus::eligible : ClassStatus::ineligible);
}

std::vector<ClassCache::ClassVerdict> ClassCache::class_map() const {
  std::vector<ClassVerdict> out;
  out.reserve(touched_.size());
  for (const std::uint32_t class_id : touched_) {
    bool any_eligible = false, any_ineligible = false;
    for (std::uint32_t group = 0; group < group_escapes_.size(); ++group) {
      const auto verdict = static_cast<ClassStatus>(group_[index(group, class_id)]);
      any_eligible |= verdict == ClassStatus::eligible;
      any_ineligible |= verdict == ClassStatus::ineligible;
    }
    const bool job_refuses = static_cast<ClassStatus>(job_[class_id]) == ClassStatus::ineligible;
    out.push_back({class_id, !job_refuses && (any_eligible || !any_ineligible)});
  }
  return out;
}

}  // namespace berth::feasible
