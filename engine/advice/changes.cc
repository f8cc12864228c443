#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "advice/advice.h"
#include "advice/edits.h"
#include "advice/obstacles.h"
#include "advice/trial.h"
#include "base/text.h"
#include "model/job.h"

namespace berth::advice {
namespace {

constexpr std::size_t kPlacesTried = 32;       ///< datacenters, and pools, tried one by one
constexpr std::size_t kConstraintsTried = 64;  ///< constraints that filtered some node
constexpr std::size_t kPartsTried = 64;        ///< ports, devices and volumes
constexpr std::size_t kSetsTried = 8;          ///< sets of several changes
constexpr std::size_t kSetsOffered = 3;        ///< successful sets shown
constexpr std::size_t kNodesTried = 16;        ///< nodes that are not ready

std::vector<std::string> steps(std::string_view pointer) {
  std::vector<std::string> out;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string step;
    for (std::size_t i = 0; i < end; ++i)
      if (pointer[i] != '~') {
        step += pointer[i];
      } else if (++i < end) {
        step += pointer[i] == '0' ? '~' : '/';
      }
    out.push_back(std::move(step));
    pointer.remove_prefix(end);
  }
  return out;
}

std::optional<std::size_t> index_of(const std::string& step, std::size_t size) {
  const std::optional<std::uint64_t> index = base::parse_uint64(step);
  if (!index || *index > size) return std::nullopt;
  return static_cast<std::size_t>(*index);
}

bool apply(json::Value& document, const json::Value& operation) {
  const std::vector<std::string> path = steps(operation["path"].as_string());
  if (path.empty()) return false;
  json::Value* at = &document;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    if (at->is_array()) {
      const auto index = index_of(path[i], at->size());
      if (!index || *index == at->size()) return false;
      at = &at->items()[*index];
    } else if (!(at = at->find(path[i]))) {
      return false;
    }
  }
  const bool adds = operation["op"].as_string() == "add";
  if (!at->is_array()) {
    if (!at->is_object()) return false;
    if (!adds) return at->erase(path.back());
    at->set(path.back(), operation["value"]);
    return true;
  }
  json::Array& items = at->items();
  const auto index = path.back() == "-" ? items.size() : index_of(path.back(), items.size());
  if (!index || (!adds && *index == items.size())) return false;
  const auto position = items.begin() + static_cast<std::ptrdiff_t>(*index);
  adds ? void(items.insert(position, operation["value"])) : void(items.erase(position));
  return true;
}

/// A number of the file that could be smaller.
struct Number {
  std::string text;  ///< its name: `cpu of task "x"`
  std::string unit;  ///< with a leading space
  std::int64_t present = 0, least = 1;
  std::function<json::Value(std::int64_t)> patch;
};

/// The changes of one group, cheapest to make first.
class Changes {
 public:
  Changes(Loaded& loaded, const model::Registration& registration, const model::TaskGroup& group,
          const std::vector<std::string>& idle, const Findings& findings)
      : findings_(findings),
        question_(loaded.question()),
        job_(*registration.job),
        group_(group),
        trial_(loaded, registration, group.name, idle),
        job_place_(job_place(question_.document)) {
    const Place groups = job_place_.at("TaskGroups");
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (groups.at(i).text("Name") == group.name) place_ = groups.at(i);
    const Place tasks = place_.at("Tasks");
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks_.push_back(tasks.at(i));
  }

  std::vector<Change> all(std::int64_t failed) {
    if (!place_.value || tasks_.size() != group_.tasks.size()) return {};
    if (job_.type != "system" && job_.type != "sysbatch") try_count(failed);
    try_resources();
    try_devices();
    try_constraints();
    try_ports();
    try_volumes();
    try_datacenters();
    try_pools();
    try_preemption();
    try_readiness();
    if (out_.empty()) try_sets();
    return std::move(out_);
  }

  /// Reports what was not tried because of the limits; "" if everything was.
  [[nodiscard]] std::string untried() const {
    std::string out;
    const auto add = [&](std::size_t count, std::size_t most, const char* what) {
      if (count > most)
        out += fmt::format("{}only {} of {} changes of {} were tried", out.empty() ? "" : ", and ", most, count, what);
    };
    add(constraints_found_, kConstraintsTried, "constraints");
    add(parts_found_, kPartsTried, "ports, devices and volumes");
    return out;
  }

 private:
  void offer(std::string text, json::Value patch) { out_.push_back({std::move(text), std::move(patch), ""}); }
  /// Tries the edit of one port, device or volume, up to kPartsTried.
  bool try_part(std::string text, json::Value patch) {
    return parts_found_++ < kPartsTried && try_patch(std::move(text), std::move(patch));
  }
  bool try_patch(std::string text, json::Value patch) {
    if (!trial_.fits(patch) || !trial_.fits_as_a_whole(patch)) return false;
    offer(std::move(text), std::move(patch));
    return true;
  }

  /// The largest value below the present one with which the group fits, given that it fits with `low`.
  std::int64_t largest(const Number& number, std::int64_t low) {
    std::int64_t high = number.present;  // low fits, high does not
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (trial_.fits(number.patch(middle)) ? low : high) = middle;
    }
    return low;
  }

  /// The least value that the server accepts, e.g. a disk with room for logs; nullopt if it never accepts the file.
  std::optional<std::int64_t> least_accepted(const Number& number) {
    if (trial_.accepted(number.patch(number.least))) return number.least;
    std::int64_t refused = number.least, taken = number.present;
    if (!trial_.accepted(number.patch(taken))) return std::nullopt;
    while (taken - refused > 1) {
      const std::int64_t middle = refused + (taken - refused) / 2;
      (trial_.accepted(number.patch(middle)) ? taken : refused) = middle;
    }
    return taken;
  }

  /// The largest value that suffices. Tries `likely` first.
  std::optional<std::int64_t> find(const Number& number, std::int64_t likely) {
    if (likely >= number.least && likely < number.present && trial_.fits(number.patch(likely)))
      return largest(number, likely);
    if (number.present <= number.least) return std::nullopt;
    const auto least = least_accepted(number);
    if (!least || *least >= number.present || !trial_.fits(number.patch(*least))) return std::nullopt;
    return largest(number, *least);
  }

  void try_number(const Number& number, std::int64_t likely = 0) {
    auto found = find(number, likely);
    if (found && !trial_.fits_as_a_whole(number.patch(*found))) {  // a skipped group does matter
      trial_.ask_whole();
      found = find(number, likely);
    }
    if (found)
      offer(fmt::format("{}: {} instead of {}{}", number.text, *found, number.present, number.unit),
            number.patch(*found));
  }

  void try_count(std::int64_t failed) { try_number(count(), group_.count - failed); }

  /// The number of the task that requests most. nullopt if that is already the least allowed.
  [[nodiscard]] std::optional<Number> of_tasks(const char* name, const char* unit, std::int64_t least, const char* key,
                                               const std::function<std::int64_t(const model::Resources&)>& ask) const {
    std::size_t largest = 0;
    std::int64_t most = 0;
    for (std::size_t t = 0; t < group_.tasks.size(); ++t)
      if (const auto& r = group_.tasks[t].resources; r && ask(*r) > most) largest = t, most = ask(*r);
    if (most <= least) return std::nullopt;
    const Place resources = tasks_[largest].at("Resources"), field = resources.at(key);
    const bool there = resources.value && resources.value->is_object();
    return Number{fmt::format("{} of task \"{}\"", name, group_.tasks[largest].name), unit, most, least,
                  [=](std::int64_t n) {
                    if (there) return patch_of(add(field, n));
                    json::Value block = json::Value::object();
                    block.set(key, n);
                    return patch_of(add(resources, std::move(block)));
                  }};
  }

  [[nodiscard]] Number count() const {
    return {"count", "", group_.count, 1,
            [place = place_.at("Count")](std::int64_t n) { return patch_of(add(place, n)); }};
  }

  [[nodiscard]] std::optional<Number> number_of(Amount amount) const {
    switch (amount) {
      case Amount::cpu:
        return of_tasks("cpu", " MHz", 1, "CPU", [](const model::Resources& r) { return r.cores > 0 ? 0 : r.cpu; });
      case Amount::cores:
        return of_tasks("cores", "", 1, "Cores", [](const model::Resources& r) { return r.cores; });
      case Amount::memory:
        return of_tasks("memory", " MiB", 10, "MemoryMB", [](const model::Resources& r) { return r.memory_mb; });
      case Amount::disk: {
        if (!group_.ephemeral_disk) return std::nullopt;
        const Place disk = place_.at("EphemeralDisk"), size = disk.at("SizeMB");
        const bool there = disk.value && disk.value->is_object();
        return Number{"disk of the group", " MiB", group_.ephemeral_disk->size_mb, 10, [=](std::int64_t n) {
                        if (there) return patch_of(add(size, n));
                        json::Value block = json::Value::object();
                        block.set("SizeMB", n);
                        return patch_of(add(disk, std::move(block)));
                      }};
      }
      case Amount::none:
        break;
    }
    return std::nullopt;
  }

  void try_resources() {
    for (const Amount amount : {Amount::cpu, Amount::cores, Amount::memory, Amount::disk})
      if (const auto number = number_of(amount)) try_number(*number);
  }

  void try_devices() {
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (!group_.tasks[t].resources) continue;
      const std::vector<model::RequestedDevice>& asks = group_.tasks[t].resources->devices;
      const Place devices = tasks_[t].at("Resources").at("Devices");
      if (devices.size() != asks.size()) continue;
      for (std::size_t d = 0; d < asks.size(); ++d) {
        const std::string text = fmt::format("device \"{}\" of task \"{}\"", asks[d].name, group_.tasks[t].name);
        const std::size_t before = out_.size();
        if (asks[d].count > 1 && asks[d].count < 1U << 31 && parts_found_++ < kPartsTried)
          try_number({"count of " + text, "", static_cast<std::int64_t>(asks[d].count), 1,
                      [place = devices.at(d).at("Count")](std::int64_t n) { return patch_of(add(place, n)); }});
        for (std::size_t c = 0; c < asks[d].constraints.size(); ++c)
          if (const Place constraints = devices.at(d).at("Constraints");
              constraints.size() == asks[d].constraints.size())
            try_part(fmt::format("no constraint \"{}\" of {}", base::trim_space(asks[d].constraints[c].text()), text),
                     patch_of(removal(constraints.at(c))));
        if (out_.size() == before) try_part("no " + text, patch_of(removal(devices.at(d))));
      }
    }
  }

  /// Tries constraints named by metrics or obstacles: only removing these can help alone. Trying all constraints of the
  /// file would cost their square.
  void try_constraints() {
    const JobFile file(question_.document, job_, group_.name);
    std::set<std::string> done;
    const auto attempt = [&](const model::Constraint& constraint) {
      const std::string text = constraint.text();
      const bool distinct = constraint.operand == "distinct_hosts" || constraint.operand == "distinct_property";
      if ((!distinct && !findings_.filters.contains(text)) || !done.insert(text).second) return;
      if (constraints_found_++ >= kConstraintsTried) return;
      if (json::Value patch = file.without_constraint(text); !patch.is_null())
        try_patch(fmt::format("no constraint \"{}\"", base::trim_space(text)), std::move(patch));
    };
    for (const model::Constraint& constraint : job_.constraints.list()) attempt(constraint);
    for (const model::Constraint& constraint : group_.constraints) attempt(constraint);
    for (const model::Task& task : group_.tasks)
      for (const model::Constraint& constraint : task.constraints) attempt(constraint);
  }

  void try_ports() {
    std::vector<Place> lists = {place_.at("Networks")};
    for (const Place& task : tasks_) lists.push_back(task.at("Resources").at("Networks"));
    json::Value all_dynamic = json::Value::array();
    std::size_t fixed = 0;
    const std::size_t before = out_.size();
    for (const Place& list : lists)
      for (std::size_t n = 0; n < list.size(); ++n) {
        const Place network = list.at(n);
        if (const std::string mode = network.text("Mode"); !mode.empty() && mode != "host")
          try_part(fmt::format("network mode \"host\" instead of \"{}\"", mode),
                   patch_of(add(network.at("Mode"), "host")));
        for (const char* kind : {"ReservedPorts", "DynamicPorts"})
          for (std::size_t p = 0; p < network.at(kind).size(); ++p)
            if (const std::string host_network = network.at(kind).at(p).text("HostNetwork");
                !host_network.empty() && host_network != "default")
              try_part(fmt::format("port \"{}\" in host network \"default\" instead of \"{}\"",
                                   network.at(kind).at(p).text("Label"), host_network),
                       patch_of(add(network.at(kind).at(p).at("HostNetwork"), "default")));
        const Place reserved = network.at("ReservedPorts"), dynamic = network.at("DynamicPorts");
        json::Value ports = dynamic.value && dynamic.value->is_array() ? *dynamic.value : json::Value::array();
        for (std::size_t p = 0; p < reserved.size(); ++p, ++fixed) {
          const Place port = reserved.at(p);
          json::Value moved = *port.value;
          if (const Place value = port.at("Value"); value.value)
            moved.erase(value.pointer.substr(value.pointer.rfind('/') + 1));
          if (parts_found_ >= kPartsTried) {
            ++parts_found_;
            ports.push(std::move(moved));
            continue;
          }
          json::Value one = dynamic.value && dynamic.value->is_array() ? *dynamic.value : json::Value::array();
          one.push(moved), ports.push(moved);
          json::Value patch = json::Value::array();
          patch.push(removal(port)), patch.push(add(dynamic, std::move(one)));
          const Place value = port.at("Value");
          try_part(fmt::format("port \"{}\" dynamic instead of {}", port.text("Label"),
                               value.value ? value.value->as_int() : 0),
                   std::move(patch));
        }
        if (reserved.size() > 0) {
          all_dynamic.push(add(reserved, json::Value::array()));
          all_dynamic.push(add(dynamic, std::move(ports)));
        }
      }
    if (fixed > 1 && out_.size() == before) try_patch("all static ports dynamic", std::move(all_dynamic));
  }

  void try_volumes() {
    const Place volumes = place_.at("Volumes");
    if (!volumes.value) return;
    for (const json::Member& volume : volumes.value->members()) {
      if (parts_found_ >= kPartsTried) {  // making a patch visits all mounts
        ++parts_found_;
        continue;
      }
      const Place place = volumes.at(volume.key);
      const Place read_only = place.at("ReadOnly");
      if (!(read_only.value && read_only.value->as_bool()) &&
          try_part(fmt::format("volume \"{}\" read only", volume.key), patch_of(add(read_only, true))))
        continue;
      json::Value patch = patch_of(removal(place));
      for (const Place& task : tasks_) {
        const Place mounts = task.at("VolumeMounts");
        for (std::size_t m = mounts.size(); m-- > 0;)
          if (mounts.at(m).text("Volume") == volume.key) patch.push(removal(mounts.at(m)));
      }
      try_part(fmt::format("no volume \"{}\"", volume.key), std::move(patch));
    }
  }

  void try_datacenters() {
    std::set<std::string> others;
    for (const model::Node& node : question_.state.nodes) others.insert(node.datacenter);
    std::erase_if(others, [&](const std::string& datacenter) {
      return std::any_of(job_.datacenters.begin(), job_.datacenters.end(),
                         [&](const std::string& pattern) { return base::glob_match(pattern, datacenter); });
    });
    if (others.empty()) return;
    const auto with = [&](const std::string& datacenter) {
      json::Value list = json::Value::array();
      for (const std::string& present : job_.datacenters) list.push(present);
      list.push(datacenter);
      return patch_of(add(job_place_.at("Datacenters"), std::move(list)));
    };
    if (!trial_.fits(with("*"))) return;
    std::size_t tried = 0;
    for (const std::string& datacenter : others)
      if (tried++ < kPlacesTried && try_patch(fmt::format("datacenter \"{}\" as well", datacenter), with(datacenter)))
        return;
    try_patch("datacenter \"*\" as well", with("*"));
  }

  void try_pools() {
    std::set<std::string> others;
    for (const model::Node& node : question_.state.nodes)
      if (node.node_pool != job_.node_pool) others.insert(node.node_pool);
    if (others.empty() || job_.node_pool == "all") return;
    const auto in = [&](const std::string& pool) { return patch_of(add(job_place_.at("NodePool"), pool)); };
    const auto text = [&](const std::string& pool) {
      return fmt::format("node pool \"{}\" instead of \"{}\"", pool, *job_.node_pool);
    };
    std::size_t tried = 0;
    for (const std::string& pool : others)
      if (tried++ < kPlacesTried && try_patch(text(pool), in(pool))) return;
    try_patch(text("all"), in("all"));
  }

  void try_preemption() {
    auto config = question_.state.scheduler_config.value_or(model::SchedulerConfiguration{});
    model::PreemptionConfig& p = config.preemption_config;
    bool& enabled = job_.type == "batch"      ? p.batch_scheduler_enabled
                    : job_.type == "system"   ? p.system_scheduler_enabled
                    : job_.type == "sysbatch" ? p.sysbatch_scheduler_enabled
                                              : p.service_scheduler_enabled;
    if (enabled) return;
    enabled = true;
    if (trial_.fits_with(config)) offer("preemption switched on for " + job_.type + " jobs", json::Value());
  }

  static std::string when_ready(const NodeObstacles& of) {
    std::string state;
    for (const Obstacle& obstacle : of.obstacles)
      if (obstacle.readiness) state = obstacle.reason;
    return fmt::format("{} if it were {}", of.node->name,
                       state == "ineligible" ? "eligible"
                       : state == "draining" ? "not draining"
                                             : "up");
  }

  /// Nodes that would take the unchanged group if they were ready: each alone, or else all of them.
  void try_readiness() {
    std::vector<const NodeObstacles*> unready;
    for (const NodeObstacles& of : findings_.nodes)
      if (of.all && of.obstacles.size() == 1 && of.obstacles.front().readiness && unready.size() < kNodesTried)
        unready.push_back(&of);
    const auto fits_with = [&](std::vector<std::string> nodes) {
      trial_.suppose_ready(std::move(nodes));
      const bool fits = trial_.fits(json::Value::array()) && trial_.fits_as_a_whole(json::Value::array());
      trial_.suppose_ready({});
      return fits;
    };
    std::size_t offered = 0;
    for (const NodeObstacles* of : unready)
      if (offered < kSetsOffered && fits_with({of->node->id})) {
        out_.push_back({when_ready(*of), {}, of->node->id});
        ++offered;
      }
    if (offered > 0 || unready.size() < 2) return;
    std::vector<std::string> ids;
    std::string text;
    for (const NodeObstacles* of : unready) {
      ids.push_back(of->node->id);
      text += (text.empty() ? "" : ", and ") + when_ready(*of);
    }
    if (fits_with(ids)) out_.push_back({text, {}, unready.front()->node->id});
  }

  /// Obstacles of one node that must be removed together.
  struct Set {
    const NodeObstacles* of = nullptr;
    std::vector<const Obstacle*> parts;
    [[nodiscard]] bool needs_readiness() const {
      return std::any_of(parts.begin(), parts.end(), [](const Obstacle* part) { return part->readiness; });
    }
    [[nodiscard]] std::string key() const {
      std::string out;
      for (const Obstacle* part : parts) out += part->readiness ? "ready " + of->node->id + '\n' : part->change + '\n';
      return out;
    }
  };

  /// Tries the smallest sets of changes with which some node takes the group. Several nodes may share a set.
  void try_sets() {
    std::vector<Set> sets;
    std::set<std::string> known;
    for (const NodeObstacles& of : findings_.nodes) {
      Set set{&of, {}};
      for (const Obstacle& obstacle : of.obstacles) set.parts.push_back(&obstacle);
      const bool possible = of.all && std::all_of(set.parts.begin(), set.parts.end(), [](const Obstacle* part) {
                              return part->readiness || !part->change.empty();
                            });
      if (possible && !set.parts.empty() && known.insert(set.key()).second) sets.push_back(std::move(set));
    }
    std::stable_sort(sets.begin(), sets.end(),
                     [](const Set& a, const Set& b) { return a.parts.size() < b.parts.size(); });
    if (sets.size() > kSetsTried) sets.resize(kSetsTried);
    std::size_t size = 0;
    for (Set& set : sets) {
      if (out_.size() >= kSetsOffered || (!out_.empty() && set.parts.size() > size)) break;
      if (try_set(set)) size = set.parts.size();
    }
    trial_.suppose_ready({});
  }

  bool try_set(Set& set) {
    std::vector<Number> numbers;
    const auto build = [&](const std::vector<const Obstacle*>& parts) {
      numbers.clear();
      for (const Obstacle* part : parts)
        if (part->amount != Amount::none)
          if (auto number = number_of(part->amount)) numbers.push_back(std::move(*number));
    };
    std::vector<std::int64_t> values;
    const auto patch = [&](const std::vector<const Obstacle*>& parts) {
      std::vector<json::Value> own;
      for (std::size_t i = 0; i < numbers.size(); ++i)
        if (values[i] != numbers[i].present) own.push_back(numbers[i].patch(values[i]));
      std::vector<const json::Value*> all;
      for (const json::Value& one : own) all.push_back(&one);
      for (const Obstacle* part : parts)
        if (part->patch.is_array()) all.push_back(&part->patch);
      return combined(all);
    };
    // Tries the set with every number at the least that the server accepts.
    const auto at_least = [&](const std::vector<const Obstacle*>& parts) {
      build(parts);
      values.clear();
      for (const Number& number : numbers) {
        const auto least = least_accepted(number);
        if (!least) return false;
        values.push_back(*least);
      }
      return trial_.fits(patch(parts));
    };
    trial_.suppose_ready(set.needs_readiness() ? std::vector<std::string>{set.of->node->id}
                                               : std::vector<std::string>());
    bool fewer = false;  // allocations must be reduced
    if (!at_least(set.parts)) {
      const bool counts = job_.type != "system" && job_.type != "sysbatch" && group_.count > 1;
      numbers.push_back(count());
      values.push_back(1);
      if (!counts || !trial_.fits(patch(set.parts))) return false;
      fewer = true;
    }
    // No single change of the job helps: that was tried before.
    const std::size_t least_parts = set.needs_readiness() ? 1 : 2;
    for (std::size_t i = set.parts.size(); !fewer && i-- > 0 && set.parts.size() > least_parts;) {
      if (set.parts[i]->readiness) continue;
      std::vector<const Obstacle*> others = set.parts;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      if (at_least(others)) set.parts = std::move(others);
    }
    if (!fewer) static_cast<void>(at_least(set.parts));
    // From the last number back, so that the count stays as large as possible with the least of the others.
    for (std::size_t i = numbers.size(); i-- > 0;) {
      std::int64_t low = values[i], high = numbers[i].present;  // low fits
      values[i] = high;
      if (trial_.fits(patch(set.parts))) continue;
      while (high - low > 1) {
        values[i] = low + (high - low) / 2;
        (trial_.fits(patch(set.parts)) ? low : high) = values[i];
      }
      values[i] = low;
    }
    json::Value whole = patch(set.parts);
    if (!trial_.fits_as_a_whole(whole)) return false;
    std::string text;
    const auto join = [&](const std::string& part) { text += (text.empty() ? "" : " and ") + part; };
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (values[i] != numbers[i].present)
        join(fmt::format("{}: {} instead of {}{}", numbers[i].text, values[i], numbers[i].present, numbers[i].unit));
    for (const Obstacle* part : set.parts)
      if (part->amount == Amount::none && !part->readiness) join(part->change);
    const bool ready = set.needs_readiness();
    if (ready) text = when_ready(*set.of) + (text.empty() ? "" : ", with " + text);
    if (whole.size() == 0) whole = {};
    out_.push_back({std::move(text), std::move(whole), ready ? set.of->node->id : ""});
    return true;
  }

  const Findings& findings_;
  const Question& question_;
  const model::Job& job_;
  const model::TaskGroup& group_;
  std::size_t parts_found_ = 0, constraints_found_ = 0;
  Trial trial_;
  Place job_place_, place_;
  std::vector<Place> tasks_;
  std::vector<Change> out_;
};

}  // namespace

json::Value patched(const json::Value& document, const json::Value& patch) {
  json::Value out = document;
  for (const json::Value& operation : patch.items())
    if (!apply(out, operation)) return {};
  return out;
}

std::vector<Change> changes_that_fit(Loaded& loaded, const model::Registration& registration, const std::string& group,
                                     std::int64_t failed, const std::vector<std::string>& idle,
                                     const Findings& findings, std::string* untried) {
  const model::TaskGroup* of = registration.job->group(group);
  if (!of) return {};
  Changes changes(loaded, registration, *of, idle, findings);
  std::vector<Change> out = changes.all(failed);
  if (untried) *untried = changes.untried();
  return out;
}

}  // namespace berth::advice
