#include "diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "advice/plan_text.h"
#include "base/text.h"
#include "base/wrap.h"
#include "dryrun/request.h"
#include "model/flatten.h"
#include "model/job.h"
#include "model/status.h"

namespace berth::diff {
namespace {

using Allocs = std::unordered_map<std::string_view, const model::Allocation*>;

/// Longest chain of replacements followed from a new allocation back to one of A. Most chains have one link; the bound
/// also ends circles.
constexpr int kHopsMost = 32;
/// Upper bound of allocations that one evaluation can leave waiting: Nomad's job_max_count.
constexpr std::int64_t kCountMost = 50'000;

std::string job_name(const model::Allocation& alloc) { return advice::job_text(alloc.job_id, alloc.namespace_); }

bool is_live(const model::Allocation& alloc) {
  return alloc.desired_status == "run" && alloc.client_status != "complete" && alloc.client_status != "failed" &&
         alloc.client_status != "lost";
}

Allocs by_id(const model::ClusterState& state) {
  Allocs out;
  out.reserve(state.allocs.size());
  for (const model::Allocation& alloc : state.allocs) out.emplace(alloc.id, &alloc);
  return out;
}

const model::Allocation* find(const Allocs& allocs, std::string_view id) {
  const auto found = allocs.find(id);
  return found == allocs.end() ? nullptr : found->second;
}

std::string node_state(const model::Node* node) {
  if (!node) return "-";
  std::string out = node->status;
  if (node->drain_strategy) return out + ", draining";
  if (node->scheduling_eligibility == "ineligible") out += ", ineligible";
  return out;
}

std::string job_state(const model::Job* job) {
  if (!job) return "-";
  return fmt::format("{}, version {}",
                     job->stop             ? "stopped"
                     : job->status.empty() ? "pending"
                                           : job->status,
                     job->version);
}

using Facts = std::map<std::string, std::string>;

/// Sorts the elements of a list: an agent may list its signals in another order after each start.
std::string ascending(std::string_view list) {
  std::vector<std::string> elements;
  for (const std::string_view element : base::split(list, ',')) elements.emplace_back(element);
  std::sort(elements.begin(), elements.end());
  return base::join(elements, ",");
}

/// The values of a node that placement reads, by name.
Facts facts(const model::Node& node) {
  Facts out;
  const auto text = [&](std::string field, const std::string& value) {
    if (!value.empty()) out.emplace(std::move(field), value);
  };
  const auto number = [&](const char* field, std::int64_t value) {
    if (value != 0) out.emplace(field, std::to_string(value));
  };
  text("name", node.name), text("datacenter", node.datacenter), text("pool", node.node_pool);
  text("class", node.node_class);
  for (const auto& [key, value] : node.attributes) text("attr." + key, key == "os.signals" ? ascending(value) : value);
  for (const auto& [key, value] : node.meta) text("meta." + key, value);
  for (const auto& [name, driver] : node.drivers)
    if (driver && driver->detected) text("driver " + name, driver->healthy ? "healthy" : "unhealthy");
  for (const auto& [name, volume] : node.host_volumes)
    if (volume) text("host volume " + name, volume->read_only ? "read only" : "read and write");
  if (node.node_resources) {
    const model::NodeResources& has = *node.node_resources;
    number("cpu MHz", has.cpu.cpu_shares), number("cores", has.cpu.total_cpu_cores);
    number("memory MiB", has.memory.memory_mb), number("disk MiB", has.disk.disk_mb);
    std::map<std::string, std::int64_t> healthy;  // a node may list a device twice
    for (const model::NodeDevice& device : has.devices)
      healthy[fmt::format("device {}/{}/{}", device.vendor, device.type, device.name)] +=
          std::count_if(device.instances.begin(), device.instances.end(),
                        [](const model::DeviceInstance& instance) { return instance.healthy; });
    for (const auto& [device, count] : healthy) text(device, fmt::format("{} healthy", count));
  }
  if (node.reserved_resources) {
    const model::NodeReserved& kept = *node.reserved_resources;
    number("reserved cpu MHz", kept.cpu.cpu_shares), number("reserved memory MiB", kept.memory.memory_mb);
    number("reserved disk MiB", kept.disk.disk_mb), text("reserved ports", kept.networks.reserved_host_ports);
  }
  number("most allocations", node.node_max_allocs);
  return out;
}

class Comparison {
 public:
  Comparison(const model::ClusterState& before, const model::ClusterState& after)
      : before_(before), after_(after), old_(by_id(before)), new_(by_id(after)) {}

  Report run() {
    report_.before = moment(before_), report_.after = moment(after_);
    take_nodes();
    take_jobs();
    take_waiting(before_, &GroupChange::waiting_before);
    take_waiting(after_, &GroupChange::waiting_after);
    take_live();
    take_new();
    take_ended();
    take_failures();
    finish();
    return std::move(report_);
  }

 private:
  static Moment moment(const model::ClusterState& state) {
    Moment out;
    out.index = state.index, out.ns = dryrun::newest_time(state).ns;
    out.nodes = static_cast<std::int64_t>(state.nodes.size()), out.jobs = static_cast<std::int64_t>(state.jobs.size());
    out.live = std::count_if(state.allocs.begin(), state.allocs.end(), is_live);
    return out;
  }

  GroupChange& group(const std::string& job, const std::string& name) {
    GroupChange& out = groups_[{job, name}];
    if (out.job.empty()) out.job = job, out.group = name;
    return out;
  }
  GroupChange& group(const model::Allocation& alloc) { return group(job_name(alloc), alloc.task_group); }
  /// Finds or adds a node by ID. A node that only allocations refer to gets an entry too.
  NodeChange& node(const std::string& id, const std::string& name = "") {
    NodeChange& out = nodes_[id];
    if (out.id.empty()) out.id = id, out.node = name.empty() ? id : name, out.before = out.after = "-";
    return out;
  }
  NodeChange& node(const model::Allocation& alloc) { return node(alloc.node_id, alloc.node_name); }

  void take_nodes() {
    for (const model::Node& one : before_.nodes) node(one.id, one.name).before = node_state(&one);
    std::unordered_map<std::string_view, const model::Node*> old;
    for (const model::Node& one : before_.nodes) old.emplace(one.id, &one);
    for (const model::Node& one : after_.nodes) {
      if (const auto was = old.find(one.id); was != old.end()) take_fields(*was->second, one);
      NodeChange& change = node(one.id, one.name);
      related_ = related_ || change.before != "-";
      change.after = node_state(&one);
    }
  }

  void take_fields(const model::Node& was, const model::Node& is) {
    if (was == is) return;
    const Facts before = facts(was), after = facts(is);
    const auto note = [&](const std::string& field, const std::string& from, const std::string& to) {
      if (from != to) report_.node_fields.push_back({is.name, is.id, field, from, to});
    };
    static const std::string kNone;
    const auto at = [](const Facts& of, const std::string& field) -> const std::string& {
      const auto found = of.find(field);
      return found == of.end() ? kNone : found->second;
    };
    for (const auto& [field, value] : before) note(field, value, at(after, field));
    for (const auto& [field, value] : after)
      if (!before.contains(field)) note(field, kNone, value);
  }

  void take_jobs() {
    std::map<std::string, std::pair<const model::Job*, const model::Job*>> jobs;
    for (const auto& job : before_.jobs) jobs[advice::job_text(job->id, job->namespace_)].first = job.get();
    for (const auto& job : after_.jobs) jobs[advice::job_text(job->id, job->namespace_)].second = job.get();
    for (const auto& [name, pair] : jobs) {
      const auto& [was, is] = pair;
      related_ = related_ || (was && is);
      JobChange change{name, job_state(was), job_state(is)};
      if (change.before != change.after) report_.jobs.push_back(std::move(change));
      if (was && !was->stop && !model::is_of_system(model::parse_job_type(was->type)))
        for (const model::TaskGroup& one : was->task_groups) group(name, one.name).count_before = one.count;
      if (is && !is->stop && !model::is_of_system(model::parse_job_type(is->type)))
        for (const model::TaskGroup& one : is->task_groups) group(name, one.name).count_after = one.count;
    }
  }

  void take_waiting(const model::ClusterState& state, std::int64_t GroupChange::*waiting) {
    for (const model::Evaluation& eval : state.evals) {
      if (eval.status != "blocked") continue;
      for (const auto& [name, metric] : eval.failed_tg_allocs)
        group(advice::job_text(eval.job_id, eval.namespace_), name).*waiting +=
            std::clamp<std::int64_t>(metric.coalesced_failures, 0, kCountMost) + 1;
    }
  }

  /// Adds the allocation's resources to its group and node: `sign` is 1 for state B, -1 for state A.
  void hold(const model::Allocation& alloc, int sign) {
    if (!alloc.allocated_resources) return;
    model::flatten(*alloc.allocated_resources, flat_);
    GroupChange& of_group = group(alloc);
    NodeChange& of_node = node(alloc);
    const auto add = [&](std::int64_t& sum, std::int64_t amount) {  // wraps on overflow, as in the tables
      sum = sign > 0 ? base::wrap_add(sum, amount) : base::wrap_sub(sum, amount);
    };
    add(of_group.cpu_mhz, flat_.cpu_mhz), add(of_group.memory_mb, flat_.memory_mb);
    add(of_node.cpu_mhz, flat_.cpu_mhz), add(of_node.memory_mb, flat_.memory_mb);
  }

  void take_live() {
    for (const model::Allocation& alloc : before_.allocs) {
      const model::Allocation* is = find(new_, alloc.id);
      related_ = related_ || is != nullptr;
      if (!is_live(alloc)) continue;
      ++group(alloc).live_before, ++node(alloc).live_before;
      hold(alloc, -1);
      if (!is || !is_live(*is)) {
        ended_.push_back(&alloc);
        places_[place(alloc, true)].push_back(&alloc);
        places_[place(alloc, false)].push_back(&alloc);
      } else if (alloc.job && is->job && alloc.job->version != is->job->version) {
        ++group(alloc).updated;
      }
    }
    for (const model::Allocation& alloc : after_.allocs)
      if (is_live(alloc)) {
        ++group(alloc).live_after, ++node(alloc).live_after;
        hold(alloc, 1);
      }
  }

  using Place = std::tuple<std::string, std::string, std::string>;  // job, name, node or ""
  static Place place(const model::Allocation& alloc, bool with_node) {
    return {job_name(alloc), alloc.name, with_node ? alloc.node_id : ""};
  }

  /// How a new allocation is matched with its predecessor. Closer matches are tried for all allocations first.
  enum class Match : std::uint8_t { chain, node, name };

  /// The allocation of A that `alloc` replaced; null if this match finds none. `settled`: later matches find none
  /// either.
  const model::Allocation* predecessor(const model::Allocation& alloc, Match match, bool& settled) {
    if (match == Match::chain) {
      const model::Allocation* at = &alloc;
      for (int hops = 0; hops < kHopsMost && !at->previous_allocation.empty(); ++hops) {
        const model::Allocation* was = find(old_, at->previous_allocation);
        if (was && is_live(*was)) {
          settled = true;
          return take(was) ? was : nullptr;
        }
        const model::Allocation* is = find(new_, at->previous_allocation);
        if (!is && !was) break;
        at = is ? is : was;
      }
      return nullptr;
    }
    // All allocations of a system job share one name, so only those on the same node replace each other.
    const bool system = alloc.job && model::is_of_system(model::parse_job_type(alloc.job->type));
    if (system && match == Match::name) return nullptr;
    const auto found = places_.find(place(alloc, match == Match::node));
    if (found == places_.end()) return nullptr;
    while (!found->second.empty()) {
      const model::Allocation* was = found->second.back();
      found->second.pop_back();
      if (take(was)) return was;
    }
    return nullptr;
  }

  /// Marks `was` as replaced. False if it is still live or already replaced.
  bool take(const model::Allocation* was) {
    const model::Allocation* is = find(new_, was->id);
    return (!is || !is_live(*is)) && replaced_.insert(was).second;
  }

  [[nodiscard]] std::string reason(const model::Allocation& was) const {
    const model::Allocation* is = find(new_, was.id);
    if (!is) return "gone";
    if (is->desired_status == "evict") {
      const model::Allocation* by = find(new_, is->preempted_by_allocation);
      return by ? "evicted for " + job_name(*by) : "evicted";
    }
    if (is->client_status == "failed" || is->client_status == "lost") return is->client_status;
    if (!is->desired_description.empty() && is->desired_status != "run") return is->desired_description;
    return is->client_status;
  }

  void take_new() {
    struct New {
      const model::Allocation* alloc;
      const model::Allocation* was = nullptr;
      bool settled = false;
    };
    std::vector<New> fresh;
    for (const model::Allocation& alloc : after_.allocs) {
      if (!is_live(alloc)) continue;
      const model::Allocation* same = find(old_, alloc.id);
      if (!same || !is_live(*same)) fresh.push_back({&alloc});
    }
    for (const Match match : {Match::chain, Match::node, Match::name})
      for (New& one : fresh)
        if (!one.settled) {
          one.was = predecessor(*one.alloc, match, one.settled);
          one.settled = one.settled || one.was;
        }
    for (const New& one : fresh) {
      const model::Allocation& alloc = *one.alloc;
      AllocChange change;
      change.job = job_name(alloc), change.group = alloc.task_group, change.name = alloc.name;
      change.new_id = alloc.id, change.to = node(alloc).node;
      ++node(alloc).came;
      if (const model::Allocation* was = one.was) {
        change.kind = was->node_id == alloc.node_id ? Kind::replaced : Kind::moved;
        change.from = node(*was).node, change.old_id = was->id, change.why = reason(*was);
        ++(change.kind == Kind::moved ? group(alloc).moved : group(alloc).replaced);
      } else {
        ++group(alloc).placed;
      }
      report_.allocs.push_back(std::move(change));
    }
  }

  void take_ended() {
    for (const model::Allocation* was : ended_) {
      ++node(*was).left;
      if (replaced_.count(was) != 0) continue;
      AllocChange change;
      change.kind = Kind::ended;
      change.job = job_name(*was), change.group = was->task_group, change.name = was->name;
      change.old_id = was->id, change.from = node(*was).node, change.why = reason(*was);
      ++group(*was).ended;
      report_.allocs.push_back(std::move(change));
    }
  }

  void take_failures() {
    for (const model::Allocation& alloc : after_.allocs) {
      const model::Allocation* was = find(old_, alloc.id);
      if (alloc.client_status == "failed" && (!was || was->client_status != "failed"))
        ++group(alloc).failed, ++node(alloc).failed;
      if (alloc.desired_status == "evict" && (!was || was->desired_status != "evict")) ++group(alloc).evicted;
    }
  }

  void finish() {
    for (auto& [key, one] : groups_) {
      const bool same =
          one.count_before == one.count_after && one.live_before == one.live_after &&
          (one.moved | one.replaced | one.placed | one.ended | one.failed | one.evicted | one.updated) == 0 &&
          one.waiting_before == one.waiting_after && (one.cpu_mhz | one.memory_mb) == 0;
      if (!same) report_.groups.push_back(std::move(one));
    }
    for (auto& [id, one] : nodes_) {
      const bool same = one.before == one.after && one.live_before == one.live_after &&
                        (one.came | one.left | one.failed) == 0 && (one.cpu_mhz | one.memory_mb) == 0;
      if (!same) report_.nodes.push_back(std::move(one));
    }
    std::sort(report_.nodes.begin(), report_.nodes.end(),
              [](const NodeChange& a, const NodeChange& b) { return std::tie(a.node, a.id) < std::tie(b.node, b.id); });
    std::sort(report_.node_fields.begin(), report_.node_fields.end(),
              [](const NodeFieldChange& a, const NodeFieldChange& b) {
                return std::tie(a.node, a.id, a.field) < std::tie(b.node, b.id, b.field);
              });
    std::sort(report_.allocs.begin(), report_.allocs.end(), [](const AllocChange& a, const AllocChange& b) {
      return std::tie(a.kind, a.job, a.name, a.new_id, a.old_id) < std::tie(b.kind, b.job, b.name, b.new_id, b.old_id);
    });
    const bool both_hold = before_.nodes.size() + before_.jobs.size() + before_.allocs.size() > 0 &&
                           after_.nodes.size() + after_.jobs.size() + after_.allocs.size() > 0;
    report_.related = related_ || !both_hold;
  }

  const model::ClusterState &before_, &after_;
  const Allocs old_, new_;
  bool related_ = false;
  std::map<std::pair<std::string, std::string>, GroupChange> groups_;
  std::unordered_map<std::string, NodeChange> nodes_;
  std::vector<const model::Allocation*> ended_;
  std::map<Place, std::vector<const model::Allocation*>> places_;
  std::unordered_set<const model::Allocation*> replaced_;  // allocations of A with a successor
  model::FlatResources flat_;
  Report report_;
};

}  // namespace

const char* to_text(Kind kind) {
  switch (kind) {
    case Kind::moved:
      return "moved";
    case Kind::replaced:
      return "replaced";
    case Kind::placed:
      return "placed";
    case Kind::ended:
      return "ended";
  }
  return "";
}

std::int64_t Report::count(Kind kind) const {
  return std::count_if(allocs.begin(), allocs.end(), [&](const AllocChange& one) { return one.kind == kind; });
}

Report compare(const model::ClusterState& before, const model::ClusterState& after) {
  return Comparison(before, after).run();
}

}  // namespace berth::diff
