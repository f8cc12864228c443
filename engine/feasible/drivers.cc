#include "feasible/drivers.h"

#include <algorithm>

#include "base/text.h"
#include "model/job.h"

namespace berth::feasible {

std::set<std::string> required_drivers(const model::TaskGroup& group) {
  std::set<std::string> out;
  for (const model::Task& task : group.tasks) out.insert(task.driver);
  return out;
}

bool has_driver(const model::Node& node, const std::string& driver) {
  if (const auto it = node.drivers.find(driver); it != node.drivers.end())
    return it->second && it->second->detected && it->second->healthy;  // the attribute is not read then
  const auto it = node.attributes.find("driver." + driver);
  return it != node.attributes.end() && base::parse_bool(it->second).value_or(false);
}

bool has_drivers(const model::Node& node, const std::set<std::string>& drivers) {
  return std::all_of(drivers.begin(), drivers.end(), [&](const std::string& d) { return has_driver(node, d); });
}

}  // namespace berth::feasible
