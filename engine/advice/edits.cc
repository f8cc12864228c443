#include "advice/edits.h"

#include <algorithm>

#include "base/text.h"
#include "model/job.h"

namespace berth::advice {

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

bool later_place(const std::string& a, const std::string& b) {
  const auto x = base::split(a, '/'), y = base::split(b, '/');
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (x[i] == y[i]) continue;
    const auto m = base::parse_uint64(x[i]), n = base::parse_uint64(y[i]);
    return m && n ? *m > *n : x[i] > y[i];
  }
  return x.size() > y.size();
}

JobFile::JobFile(const json::Value& document, const model::Job& job, const std::string& group)
    : job_(job), group_(job.group(group)), job_place_(job_place(document)) {
  const Place groups = job_place_.at("TaskGroups");
  for (std::size_t i = 0; i < groups.size() && !place_.value; ++i)
    if (groups.at(i).text("Name") == group) place_ = groups.at(i);
  const Place tasks = place_.at("Tasks");
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks_.push_back(tasks.at(i));
  if (!group_ || tasks_.size() != group_->tasks.size()) {
    group_ = nullptr;
    return;
  }
  const auto collect = [&](const std::vector<model::Constraint>& constraints, const Place& list) {
    for (std::size_t i = 0; i < std::min(constraints.size(), list.size()); ++i)
      constraints_[constraints[i].text()].push_back(list.at(i));
  };
  collect(job.constraints, job_place_.at("Constraints"));
  collect(group_->constraints, place_.at("Constraints"));
  for (std::size_t t = 0; t < tasks_.size(); ++t) collect(group_->tasks[t].constraints, tasks_[t].at("Constraints"));
}

json::Value JobFile::without_constraint(const std::string& text) const {
  const auto places = constraints_.find(text);
  if (places == constraints_.end()) return {};
  json::Value patch = json::Value::array();
  for (auto place = places->second.rbegin(); place != places->second.rend(); ++place)  // keeps earlier places valid
    patch.push(removal(*place));
  return patch;
}

json::Value JobFile::without_device(const std::string& task, const model::RequestedDevice& device) const {
  for (std::size_t t = 0; group_ && t < tasks_.size(); ++t) {
    if (group_->tasks[t].name != task || !group_->tasks[t].resources) continue;
    const auto& asks = group_->tasks[t].resources->devices;
    const Place devices = tasks_[t].at("Resources").at("Devices");
    const auto found = std::find(asks.begin(), asks.end(), device);
    if (found == asks.end() || devices.size() != asks.size()) return {};
    return patch_of(removal(devices.at(static_cast<std::size_t>(found - asks.begin()))));
  }
  return {};
}

json::Value JobFile::without_volume(const std::string& name) const {
  const Place place = place_.at("Volumes").at(name);
  if (!place.value) return {};
  json::Value patch = patch_of(removal(place));
  for (const Place& task : tasks_) {
    const Place mounts = task.at("VolumeMounts");
    for (std::size_t m = mounts.size(); m-- > 0;)
      if (mounts.at(m).text("Volume") == name) patch.push(removal(mounts.at(m)));
  }
  return patch;
}

std::vector<Place> JobFile::networks() const {
  std::vector<Place> out, lists = {place_.at("Networks")};
  for (const Place& task : tasks_) lists.push_back(task.at("Resources").at("Networks"));
  for (const Place& list : lists)
    for (std::size_t n = 0; n < list.size(); ++n) out.push_back(list.at(n));
  return out;
}

json::Value JobFile::with_host_network() const {
  const Place networks = place_.at("Networks");
  return networks.size() == 0 ? json::Value() : patch_of(add(networks.at(std::size_t{0}).at("Mode"), "host"));
}

json::Value JobFile::with_default_host_network(const std::string& label) const {
  for (const Place& network : networks())
    for (const char* kind : {"ReservedPorts", "DynamicPorts"})
      for (std::size_t p = 0; p < network.at(kind).size(); ++p)
        if (const Place port = network.at(kind).at(p); port.text("Label") == label)
          return patch_of(add(port.at("HostNetwork"), "default"));
  return {};
}

json::Value JobFile::with_dynamic_port(const std::string& label, std::int64_t value) const {
  for (const Place& network : networks()) {
    const Place reserved = network.at("ReservedPorts"), dynamic = network.at("DynamicPorts");
    for (std::size_t p = 0; p < reserved.size(); ++p) {
      const Place port = reserved.at(p), number = port.at("Value");
      if (port.text("Label") != label || !number.value || number.value->as_int() != value) continue;
      json::Value moved = *port.value;
      moved.erase(number.pointer.substr(number.pointer.rfind('/') + 1));
      json::Value patch = json::Value::array();
      if (!dynamic.value || !dynamic.value->is_array()) patch.push(add(dynamic, json::Value::array()));
      patch.push(add({nullptr, dynamic.pointer + "/-"}, std::move(moved)));
      patch.push(removal(port));
      return patch;
    }
  }
  return {};
}

json::Value JobFile::with_datacenter(const std::string& datacenter) const {
  json::Value list = json::Value::array();
  for (const std::string& present : job_.datacenters.list()) list.push(present);
  list.push(datacenter);
  return patch_of(add(job_place_.at("Datacenters"), std::move(list)));
}

json::Value JobFile::with_pool(const std::string& pool) const { return patch_of(add(job_place_.at("NodePool"), pool)); }

}  // namespace berth::advice
