#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "advice/advice.h"
#include "advice/place.h"
#include "advice/trial.h"
#include "base/text.h"

namespace berth::advice {
namespace {

constexpr std::size_t kPlacesTried = 32;  ///< datacenters, and pools, that are tried one by one

json::Value add(const Place& place, json::Value value) {
  json::Value out = json::Value::object();
  out.set("op", "add"), out.set("path", place.pointer), out.set("value", std::move(value));
  return out;
}

json::Value removal(const Place& place) {
  json::Value out = json::Value::object();
  out.set("op", "remove"), out.set("path", place.pointer);
  return out;
}

json::Value patch_of(json::Value operation) {
  json::Value out = json::Value::array();
  out.push(std::move(operation));
  return out;
}

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
  std::string text;  ///< what it is: `cpu of task "x"`
  std::string unit;  ///< with a space before it
  std::int64_t present = 0, least = 1;
  std::function<json::Value(std::int64_t)> patch;
};

/// The changes of one group, cheapest to make first.
class Changes {
 public:
  Changes(Loaded& loaded, const model::Registration& registration, const model::TaskGroup& group,
          const std::vector<std::string>& idle)
      : question_(loaded.question()),
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
    return std::move(out_);
  }

 private:
  void offer(std::string text, json::Value patch) { out_.push_back({std::move(text), std::move(patch)}); }
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

  /// What the server takes at least, as a disk that has room for the logs; nothing when it does not take the file.
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

  /// The largest value that does; `likely` is tried first.
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
    if (found && !trial_.fits_as_a_whole(number.patch(*found))) {  // a group that was left out matters after all
      trial_.ask_whole();
      found = find(number, likely);
    }
    if (found)
      offer(fmt::format("{}: {} instead of {}{}", number.text, *found, number.present, number.unit),
            number.patch(*found));
  }

  void try_count(std::int64_t failed) {
    try_number({"count", "", group_.count, 1,
                [place = place_.at("Count")](std::int64_t n) { return patch_of(add(place, n)); }},
               group_.count - failed);
  }

  /// The task that asks for most is changed; "" of `unit` counts.
  void try_of_tasks(const char* name, const char* unit, std::int64_t least, const char* key,
                    const std::function<std::int64_t(const model::Resources&)>& ask) {
    std::size_t largest = 0;
    std::int64_t most = 0;
    for (std::size_t t = 0; t < group_.tasks.size(); ++t)
      if (const auto& r = group_.tasks[t].resources; r && ask(*r) > most) largest = t, most = ask(*r);
    if (most <= least) return;
    const Place resources = tasks_[largest].at("Resources"), field = resources.at(key);
    const bool there = resources.value && resources.value->is_object();
    try_number(
        {fmt::format("{} of task \"{}\"", name, group_.tasks[largest].name), unit, most, least, [=](std::int64_t n) {
           if (there) return patch_of(add(field, n));
           json::Value block = json::Value::object();
           block.set(key, n);
           return patch_of(add(resources, std::move(block)));
         }});
  }

  void try_resources() {
    try_of_tasks("cpu", " MHz", 1, "CPU", [](const model::Resources& r) { return r.cores > 0 ? 0 : r.cpu; });
    try_of_tasks("cores", "", 1, "Cores", [](const model::Resources& r) { return r.cores; });
    try_of_tasks("memory", " MiB", 10, "MemoryMB", [](const model::Resources& r) { return r.memory_mb; });
    if (!group_.ephemeral_disk) return;
    const Place disk = place_.at("EphemeralDisk"), size = disk.at("SizeMB");
    const bool there = disk.value && disk.value->is_object();
    try_number({"disk of the group", " MiB", group_.ephemeral_disk->size_mb, 10, [=](std::int64_t n) {
                  if (there) return patch_of(add(size, n));
                  json::Value block = json::Value::object();
                  block.set("SizeMB", n);
                  return patch_of(add(disk, std::move(block)));
                }});
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
        if (asks[d].count > 1 && asks[d].count < 1U << 31)
          try_number({"count of " + text, "", static_cast<std::int64_t>(asks[d].count), 1,
                      [place = devices.at(d).at("Count")](std::int64_t n) { return patch_of(add(place, n)); }});
        for (std::size_t c = 0; c < asks[d].constraints.size(); ++c)
          if (const Place constraints = devices.at(d).at("Constraints");
              constraints.size() == asks[d].constraints.size())
            try_patch(fmt::format("no constraint \"{}\" of {}", base::trim_space(asks[d].constraints[c].text()), text),
                      patch_of(removal(constraints.at(c))));
        if (out_.size() == before) try_patch("no " + text, patch_of(removal(devices.at(d))));
      }
    }
  }

  /// Only constraints that stand in the file: those that registration adds would come back (R-MODEL-240 to 246).
  void try_constraints() {
    struct Standing {
      model::Constraint constraint;
      Place place;
    };
    std::vector<Standing> all;
    const auto collect = [&](const std::vector<model::Constraint>& constraints, const Place& list) {
      for (std::size_t i = 0; i < std::min(constraints.size(), list.size()); ++i)
        all.push_back({constraints[i], list.at(i)});
    };
    collect(job_.constraints, job_place_.at("Constraints"));
    collect(group_.constraints, place_.at("Constraints"));
    for (std::size_t t = 0; t < tasks_.size(); ++t) collect(group_.tasks[t].constraints, tasks_[t].at("Constraints"));
    std::set<std::string> done;
    for (const Standing& standing : all) {
      const std::string text(base::trim_space(standing.constraint.text()));
      if (!done.insert(text).second) continue;
      json::Value patch = json::Value::array();
      for (std::size_t i = all.size(); i-- > 0;)  // from behind, so that the places stay right
        if (all[i].constraint == standing.constraint) patch.push(removal(all[i].place));
      try_patch("no constraint \"" + text + "\"", std::move(patch));
    }
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
          try_patch(fmt::format("network mode \"host\" instead of \"{}\"", mode),
                    patch_of(add(network.at("Mode"), "host")));
        for (const char* kind : {"ReservedPorts", "DynamicPorts"})
          for (std::size_t p = 0; p < network.at(kind).size(); ++p)
            if (const std::string host_network = network.at(kind).at(p).text("HostNetwork");
                !host_network.empty() && host_network != "default")
              try_patch(fmt::format("port \"{}\" in host network \"default\" instead of \"{}\"",
                                    network.at(kind).at(p).text("Label"), host_network),
                        patch_of(add(network.at(kind).at(p).at("HostNetwork"), "default")));
        const Place reserved = network.at("ReservedPorts"), dynamic = network.at("DynamicPorts");
        json::Value ports = dynamic.value && dynamic.value->is_array() ? *dynamic.value : json::Value::array();
        for (std::size_t p = 0; p < reserved.size(); ++p, ++fixed) {
          const Place port = reserved.at(p);
          json::Value moved = *port.value;
          if (const Place value = port.at("Value"); value.value)
            moved.erase(value.pointer.substr(value.pointer.rfind('/') + 1));
          json::Value one = dynamic.value && dynamic.value->is_array() ? *dynamic.value : json::Value::array();
          one.push(moved), ports.push(moved);
          json::Value patch = json::Value::array();
          patch.push(removal(port)), patch.push(add(dynamic, std::move(one)));
          const Place value = port.at("Value");
          try_patch(fmt::format("port \"{}\" dynamic instead of {}", port.text("Label"),
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
      const Place place = volumes.at(volume.key);
      const Place read_only = place.at("ReadOnly");
      if (!(read_only.value && read_only.value->as_bool()) &&
          try_patch(fmt::format("volume \"{}\" read only", volume.key), patch_of(add(read_only, true))))
        continue;
      json::Value patch = patch_of(removal(place));
      for (const Place& task : tasks_) {
        const Place mounts = task.at("VolumeMounts");
        for (std::size_t m = mounts.size(); m-- > 0;)
          if (mounts.at(m).text("Volume") == volume.key) patch.push(removal(mounts.at(m)));
      }
      try_patch(fmt::format("no volume \"{}\"", volume.key), std::move(patch));
    }
  }

  void try_datacenters() {
    std::set<std::string> others;
    for (const model::Node& node : question_.state.nodes)
      if (std::none_of(job_.datacenters.begin(), job_.datacenters.end(),
                       [&](const std::string& pattern) { return base::glob_match(pattern, node.datacenter); }))
        others.insert(node.datacenter);
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

  const Question& question_;
  const model::Job& job_;
  const model::TaskGroup& group_;
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
                                     std::int64_t failed, const std::vector<std::string>& idle) {
  const model::TaskGroup* of = registration.job->group(group);
  return of ? Changes(loaded, registration, *of, idle).all(failed) : std::vector<Change>();
}

}  // namespace berth::advice
