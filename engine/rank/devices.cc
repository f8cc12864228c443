#include "rank/devices.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/assert.h"
#include "model/predicates.h"

namespace berth::rank {
namespace {

/// Constraints with `${device.ids}` on one side: they select instances as well as groups (R-RANK-634).
class InstanceFilter {
 public:
  InstanceFilter(const match::DeviceRequest& request, const model::NodeDevice& group) {
    for (const match::DeviceConstraint& constraint : request.constraints) {
      const match::DeviceTarget* other = nullptr;
      if (constraint.left.kind == match::DeviceTargetKind::ids)
        other = &constraint.right;
      else if (constraint.right.kind == match::DeviceTargetKind::ids)
        other = &constraint.left;
      if (!other) continue;
      model::Attribute scratch;
      const model::Attribute* value = match::resolve(*other, group, scratch);
      // A side that did not resolve counts as found, but compares with nothing.
      tests_.push_back({constraint.operand, value ? *value : model::Attribute{}});
    }
  }

  bool passes(std::string_view instance_id, match::Patterns& patterns) const {
    if (tests_.empty()) return true;
    model::Attribute id;
    id.string_value = std::string(instance_id);
    return std::all_of(tests_.begin(), tests_.end(), [&](const Test& test) {
      const auto result = match::evaluate_device(test.operand, &test.left, &id, patterns);
      BERTH_DEBUG_ASSERT(result);  // a text is not compared with numbers, nor with NaN
      return *result;
    });
  }

 private:
  struct Test {
    match::Operand operand;
    model::Attribute left;
  };
  std::vector<Test> tests_;
};

}  // namespace

std::size_t DeviceAccounter::Group::free_count() const {
  return static_cast<std::size_t>(
      std::count_if(instances.begin(), instances.end(), [](const Instance& i) { return i.use_count == 0; }));
}

DeviceAccounter::DeviceAccounter(std::span<const model::NodeDevice> devices)
    : DeviceAccounter(std::make_shared<const model::DeviceTable>(model::DeviceTable::of(devices))) {}

void DeviceAccounter::start(std::shared_ptr<const model::DeviceTable> table) {
  table_ = std::move(table);
  instances_.clear(), groups_.clear();
  instances_.reserve(table_->ids.size());
  for (const std::string_view id : table_->ids) instances_.push_back({id, 0});
  for (const model::DeviceTable::Group& group : table_->groups)
    groups_.push_back({group.device, std::span(instances_).subspan(group.first, group.count)});
}

DeviceAccounter& DeviceAccounter::operator=(const DeviceAccounter& other) {
  table_ = other.table_;
  groups_ = other.groups_;
  instances_ = other.instances_;
  std::size_t first = 0;
  for (Group& group : groups_) {
    group.instances = std::span(instances_).subspan(first, group.instances.size());
    first += group.instances.size();
  }
  return *this;
}

bool DeviceAccounter::add(const model::AllocatedDevice& reserved) {
  bool collides = false;
  table_->each(reserved, [&](std::uint32_t number) { collides |= instances_[number].use_count++ > 0; });
  return collides;
}

bool DeviceAccounter::add(const model::Allocation& alloc) {
  if (!alloc.allocated_resources || model::is_client_terminal(alloc)) return false;
  bool collides = false;
  for (const auto& [name, task] : alloc.allocated_resources->tasks)
    for (const model::AllocatedDevice& device : task.devices) collides |= add(device);
  return collides;
}

double total_affinity_weight(const match::DeviceRequest& request) {
  double total = 0;
  for (const match::DeviceAffinity& affinity : request.affinities) total += std::abs(affinity.weight);
  return total;
}

Result<double, DeviceProblem> DeviceAccounter::offer(const match::DeviceRequest& request, match::Patterns& patterns,
                                                     model::AllocatedDevice& out) const {
  constexpr DeviceProblem kNotANumber{kNotANumberText, true};
  if (groups_.empty()) return tl::unexpected(DeviceProblem{"no devices available"});
  if (request.count == 0) return tl::unexpected(DeviceProblem{"invalid request of zero devices"});

  // Takes the first free instances that pass, as many as requested; writes them to `ids` if given.
  const auto take = [&](std::size_t g, std::vector<std::string>* ids) {
    const InstanceFilter filter(request, *groups_[g].device);
    std::uint64_t found = 0;
    for (const Instance& instance : groups_[g].instances) {
      if (instance.use_count > 0) continue;
      if (!filter.passes(instance.id, patterns)) continue;
      if (ids && found < ids->size())
        (*ids)[found] = instance.id;
      else if (ids)
        ids->emplace_back(instance.id);
      if (++found == request.count) return true;
    }
    return false;
  };
  const auto choice = choose_devices(request, groups_, patterns, [&](std::size_t g) { return take(g, nullptr); });
  if (!choice) return tl::unexpected(kNotANumber);
  if (choice->group == DeviceChoice::kNone) return tl::unexpected(DeviceProblem{"no devices match request"});
  const model::NodeDevice& device = *groups_[choice->group].device;
  out.vendor = device.vendor, out.type = device.type, out.name = device.name;
  if (out.device_ids.size() > request.count) out.device_ids.resize(request.count);
  take(choice->group, &out.device_ids);
  return choice->matched_weight;
}

}  // namespace berth::rank
