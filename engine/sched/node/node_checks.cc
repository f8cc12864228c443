#include "sched/node/node_checks.h"

#include <algorithm>

#include "feasible/devices.h"
#include "feasible/drivers.h"
#include "tables/state.h"

namespace berth::sched {

using feasible::ClassStatus;
using tables::CompiledGroup;
using tables::CompiledJob;
using tables::kNoRow;
using tables::NodeRow;

namespace {

std::uint32_t class_count(const tables::Snapshot& snapshot) {
  return static_cast<std::uint32_t>(snapshot.nodes.column(tables::kComputedClassColumn).values.size() + 1);
}

}  // namespace

void NodeChecks::start() {
  distinct.start();
  volumes.start();
  ledger_.start();
  networks_.resize(1);
  network_ = 0;
  for (OtherVersion& other : other_versions_) other.job = nullptr;
}

void NodeChecks::set_job(const CompiledJob* from, bool given_before) {
  const CompiledJob& job = *attempt_.job;
  const auto names = static_cast<std::uint32_t>(attempt_.names.size());
  if (!attempt_.quirks.verdicts_outlive_version && from) change_version(*from);
  if (!from)
    ledger_.classes.begin_attempt(class_count(*attempt_.snapshot), names);
  else
    ledger_.classes.add_groups(names);
  ledger_.classes.set_job_escapes(job.escapes);
  for (std::uint32_t g = 0; g < job.groups.size(); ++g)
    ledger_.classes.set_group_escapes(attempt_.numbers[g], job.groups[g].escapes);
  distinct.set_job(!from, attempt_.quirks.verdicts_outlive_version || !given_before);
}

/// Stores the verdicts of the version `from` and loads those of the current version, which are empty at first.
void NodeChecks::change_version(const CompiledJob& from) {
  const auto slot = [&](const CompiledJob* job) {
    return std::find_if(other_versions_.begin(), other_versions_.end(),
                        [&](const OtherVersion& other) { return other.job == job; });
  };
  const CompiledJob* const to = attempt_.job;
  if (slot(to) == other_versions_.end()) {
    auto free = slot(nullptr);
    if (free == other_versions_.end()) free = other_versions_.emplace(free);
    free->job = to;
    free->classes.begin_attempt(class_count(*attempt_.snapshot), 0);
    free->properties.begin_attempt(0);
  }
  const auto other = slot(to);
  std::swap(other->classes, ledger_.classes);
  distinct.exchange(other->properties);
  other->job = &from;
}

void NodeChecks::begin_select(GroupView& v) {
  if (!attempt_.quirks.group_inherits_network) network_ = 0;
  if (v.network) {
    if (v.network_number == 0) v.network_number = number_of(*v.network);
    network_ = v.network_number;
  }
  if (v.checked_network == network_) return;
  v.checked_network = network_;  // the cells' group checks were decided under other parameters
  for (std::uint32_t i = 0; i < candidates_.frontier; ++i) v.cells[i].group_checks = kUnknown;
}

std::uint32_t NodeChecks::number_of(const feasible::NetworkAsk& network) {
  const auto at = std::find(networks_.begin(), networks_.end(), network);
  if (at == networks_.end()) return networks_.push_back(network), static_cast<std::uint32_t>(networks_.size() - 1);
  return static_cast<std::uint32_t>(at - networks_.begin());
}

bool NodeChecks::passes(Position& position, GroupView& v, Cell& cell) {
  BERTH_DEBUG_ASSERT(!ledger_.has_unread());
  feasible::ClassCache& classes = ledger_.classes;
  const std::uint32_t class_id = position.computed_class;
  const ClassStatus job_status = classes.job_status(class_id);
  if (job_status == ClassStatus::ineligible) {
    counts_.filter(position.node_class, kReasonClassIneligible);
    return false;
  }
  // The job checks are a pure function of the node; a node that failed them before fails again, reason included.
  if (position.job_checks != kPass && !job_checks(position)) {
    if (job_status != ClassStatus::escaped) classes.set_job(class_id, false);
    return false;
  }
  if (job_status == ClassStatus::unknown) classes.set_job(class_id, true);
  const ClassStatus group_status = classes.group_status(v.number, class_id);
  if (group_status == ClassStatus::ineligible) {
    counts_.filter(position.node_class, kReasonClassIneligible);
    return false;
  }
  if ((group_status != ClassStatus::eligible || !attempt_.quirks.verdicts_per_class) &&
      !group_checks(position, v, cell, group_status))
    return false;
  return volumes.passes(position);
}

bool NodeChecks::job_checks(Position& position) {
  for (const tables::ConstraintId id : attempt_.job->constraints)
    if (!scratch_.by_content.verdicts.holds(*attempt_.snapshot, id, position.row)) {
      position.job_checks = kFail;
      counts_.filter(position.node_class, scratch_.reason_of(*attempt_.snapshot, id));
      return false;
    }
  position.job_checks = kPass;
  return true;
}

/// Runs the group's checks and records the class verdict. Without the quirk verdicts_per_class, drivers, devices and
/// network are checked on every node, in the order of R-FEAS-304; only constraints and secrets decide for the class.
bool NodeChecks::group_checks(const Position& position, GroupView& v, Cell& cell, ClassStatus status) {
  const bool by_node = !attempt_.quirks.verdicts_per_class;
  std::uint32_t reason = kReasonNone;
  bool of_node = false;
  if (cell.group_checks != kPass)
    reason = by_node ? first_failing_of_group(position.row, v, status == ClassStatus::eligible, &of_node)
                     : first_failing_of_group(position.row, v);
  if (!attempt_.error.empty()) {
    if (!by_node && status != ClassStatus::escaped) ledger_.classes.set_group(v.number, position.computed_class, false);
    return false;
  }
  const bool passes = reason == kReasonNone;
  cell.group_checks = passes ? kPass : kFail;
  if (!passes) counts_.filter(position.node_class, reason);
  const bool tells_of_class = by_node  ? status == ClassStatus::unknown && !of_node
                              : passes ? status == ClassStatus::unknown
                                       : status != ClassStatus::escaped;
  if (tells_of_class) ledger_.classes.set_group(v.number, position.computed_class, passes);
  return passes;
}

bool NodeChecks::job_holds(NodeRow row) const {
  const std::vector<tables::ConstraintId>& ids = attempt_.job->constraints;
  return std::all_of(ids.begin(), ids.end(), [&](tables::ConstraintId id) {
    return scratch_.by_content.verdicts.holds(*attempt_.snapshot, id, row);
  });
}

std::uint32_t NodeChecks::first_failing(NodeRow row, GroupView& v, bool* of_node) {
  if (of_node) *of_node = false;
  for (const tables::ConstraintId id : attempt_.job->constraints)
    if (!scratch_.by_content.verdicts.holds(*attempt_.snapshot, id, row))
      return scratch_.reason_of(*attempt_.snapshot, id);
  return first_failing_of_group(row, v, false, of_node);
}

std::uint32_t NodeChecks::network_failure(NodeRow row) {
  const auto reason = feasible::network_failure(network(), node_of(row));
  if (!reason) return kReasonNone;
  return network().is_default() ? std::uint32_t{kReasonNetwork} : scratch_.reasons.id(*reason);
}

std::uint32_t NodeChecks::first_failing_of_group(NodeRow row, GroupView& v, bool class_passes,
                                                 bool* of_node) {  // R-FEAS-304
  if (of_node) *of_node = true;
  const CompiledGroup& group = *v.group;
  for (const std::string& driver : group.drivers)
    if (!feasible::has_driver(node_of(row), driver)) return kReasonDrivers;
  for (const tables::ConstraintId id : group.constraints) {
    if (class_passes || scratch_.by_content.verdicts.holds(*attempt_.snapshot, id, row)) continue;
    if (of_node) *of_node = false;
    return scratch_.reason_of(*attempt_.snapshot, id);
  }
  if (group.has_devices) {
    auto found = feasible::has_devices(node_of(row).node_resources->devices, v.devices, scratch_.work.patterns);
    if (!found) {
      attempt_.error = rank::kNotANumberText;  // R-FEAS-933
      return kReasonDevices;
    }
    if (!*found) return kReasonDevices;
  }
  if (const std::uint32_t reason = network_failure(row); reason != kReasonNone) return reason;
  if (of_node) *of_node = false;
  for (const std::string& provider : group.secrets)
    if (!class_passes && !node_of(row).attributes.contains("plugins.secrets." + provider + ".version"))
      return kReasonSecrets;
  return kReasonNone;
}

/// True if the node's kind decides the checks. False if classes are stale, or if network parameters of an earlier group
/// are inherited (R-FEAS-309).
bool NodeChecks::kind_tells(const GroupView& v) const {
  return attempt_.snapshot->nodes.classes_exact && v.group->checks != kNoRow && (v.network || network().is_default());
}

std::uint32_t NodeChecks::first_failing_known(NodeRow row, GroupView& v) {
  if (!kind_tells(v)) return first_failing(row, v);
  std::uint32_t& known =
      scratch_.by_content.kind_verdicts.of(v.group->checks, attempt_.snapshot->nodes.capacity(row).kind);
  if (known != KindVerdicts::kUnknown) return known;
  const std::uint32_t reason = first_failing(row, v);
  if (attempt_.error.empty()) known = reason;
  return reason;
}

std::uint32_t NodeChecks::first_failing_of_class(NodeRow row, std::uint32_t computed_class, GroupView& v) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  if (!nodes.class_kinds_exact || !kind_tells(v)) return first_failing_known(row, v);
  if (const std::uint32_t known = scratch_.by_content.kind_verdicts.of_class(nodes, v.group->checks, computed_class);
      known != KindVerdicts::kUnknown)
    return known;
  const std::uint32_t reason = first_failing_known(row, v);
  if (attempt_.error.empty())
    scratch_.by_content.kind_verdicts.of_class(nodes, v.group->checks, computed_class) = reason;
  return reason;
}

std::span<const std::uint32_t> NodeChecks::known_of_classes(const GroupView& v) const {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  if (!nodes.class_kinds_exact || !kind_tells(v)) return {};
  return scratch_.by_content.kind_verdicts.of_classes(nodes, v.group->checks);
}

std::uint32_t NodeChecks::known_failure(NodeRow row, const GroupView& v) {
  if (!kind_tells(v)) return kReasonNone;
  const std::uint32_t known =
      scratch_.by_content.kind_verdicts.of(v.group->checks, attempt_.snapshot->nodes.capacity(row).kind);
  return known == KindVerdicts::kUnknown ? std::uint32_t{kReasonNone} : known;
}

/// Writes the verdicts that the general source would have written at the visits that fast sources recorded, in the same
/// order.
void NodeChecks::write_unread_verdicts() {
  const std::uint32_t network = network_;
  ledger_.take_unread(reading_);
  for (const ClassLedger::Visit& visit : reading_) {
    GroupView& v = candidates_.views[visit.group];
    network_ = visit.network;
    const auto write = [&](const ReadyNodes::Candidate& c) {
      if (ledger_.classes.job_status(c.computed_class) != ClassStatus::ineligible &&
          ledger_.classes.group_status(v.number, c.computed_class) == ClassStatus::unknown)
        write_verdict(c.row, c.computed_class, v);
    };
    if (visit.all)  // all nodes of a class get the same verdict, so one node per class is enough
      std::for_each(candidates_.nodes->of_class.begin(), candidates_.nodes->of_class.end(), write);
    for (std::uint32_t i = 0, place = visit.first; i < visit.count; ++i) {
      write(candidates_.nodes->candidates[candidates_.order.at(place)]);
      if (++place == candidates_.size) place = 0;
    }
  }
  network_ = network;
}

/// Writes the verdict of a class that has none yet.
void NodeChecks::write_verdict(NodeRow row, std::uint32_t class_id, GroupView& v) {
  feasible::ClassCache& classes = ledger_.classes;
  bool of_node = false;
  const std::uint32_t reason =
      attempt_.quirks.verdicts_per_class ? first_failing_of_class(row, class_id, v) : first_failing(row, v, &of_node);
  const bool job_passes = reason == kReasonNone || job_holds(row);
  classes.set_job(class_id, job_passes);
  if (job_passes && !of_node) classes.set_group(v.number, class_id, reason == kReasonNone);
}

void NodeChecks::class_map(std::vector<std::pair<std::uint32_t, bool>>& out) {
  out.clear();
  for (const feasible::ClassCache::ClassVerdict& v : class_verdicts().class_map())
    out.emplace_back(v.class_id, v.eligible);
  for (const OtherVersion& other : other_versions_) {  // a class is eligible if it is for one of the versions
    if (!other.job) continue;
    for (const feasible::ClassCache::ClassVerdict& v : other.classes.class_map()) {
      const auto known = std::find_if(out.begin(), out.end(), [&](const auto& c) { return c.first == v.class_id; });
      if (known == out.end())
        out.emplace_back(v.class_id, v.eligible);
      else
        known->second = known->second || v.eligible;
    }
  }
}

}  // namespace berth::sched
