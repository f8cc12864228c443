// ClassCache: verdicts of one scheduling attempt, shared by the nodes of a computed class (R-FEAS-405 to 415, 1701).
//
// Classes and task groups are small integers. The caller numbers classes over the snapshot, and groups by *name* over
// the attempt: verdicts and flags of a name survive a switch to another job version (R-FEAS-408, 413).
//   array     index                      bytes  meaning
//   job_      class                          1  Verdict of the job's constraints
//   group_    group * class_count + class    1  Verdict of the group's checks
//   touched_  -                              4  classes with any verdict, so that clearing costs what was stored
// Threads: owned by one worker.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth::feasible {

enum class ClassStatus : std::uint8_t { unknown, eligible, ineligible, escaped };

class ClassCache {
 public:
  /// Clears the cache for a new attempt; keeps its memory. Costs as much as the last attempt stored, unless the sizes
  /// grow.
  void begin_attempt(std::uint32_t class_count, std::uint32_t group_count);

  /// Makes room for more groups; keeps stored verdicts. No-op if there is room.
  void add_groups(std::uint32_t group_count);

  void set_job_escapes(bool escapes) { job_escapes_ = escapes; }
  void set_group_escapes(std::uint32_t group, bool escapes) { group_escapes_[group] = escapes; }
  [[nodiscard]] bool has_escaped() const;  ///< the job's flag or that of any group (R-FEAS-408)

  /// A raised flag hides stored verdicts (R-FEAS-409).
  [[nodiscard]] ClassStatus job_status(std::uint32_t class_id) const {
    return job_escapes_ ? ClassStatus::escaped : static_cast<ClassStatus>(job_[class_id]);
  }
  [[nodiscard]] ClassStatus group_status(std::uint32_t group, std::uint32_t class_id) const {
    return group_escapes_[group] ? ClassStatus::escaped : static_cast<ClassStatus>(group_[index(group, class_id)]);
  }

  /// Stores even if the level escaped; the class-cached wrapper does not call these then (R-FEAS-410).
  void set_job(std::uint32_t class_id, bool eligible);
  void set_group(std::uint32_t group, std::uint32_t class_id, bool eligible);

  [[nodiscard]] bool knows_any() const { return !touched_.empty(); }

  struct ClassVerdict {
    std::uint32_t class_id;
    bool eligible;
  };
  /// The classes that a blocked evaluation records: those with any verdict, in order of first verdict (R-FEAS-1701).
  [[nodiscard]] std::vector<ClassVerdict> class_map() const;

 private:
  using Verdict = std::uint8_t;  // unknown, eligible or ineligible of ClassStatus
  [[nodiscard]] std::size_t index(std::uint32_t group, std::uint32_t class_id) const {
    return std::size_t{group} * class_count_ + class_id;
  }
  void touch(std::uint32_t class_id);
  void clear_verdicts();

  std::uint32_t class_count_ = 0;
  bool job_escapes_ = false;
  std::vector<Verdict> job_, group_;
  std::vector<std::uint8_t> group_escapes_, is_touched_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace berth::feasible
