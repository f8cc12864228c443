#include "feasible/drivers.h"

#include <algorithm>

#include "base/text.h"

namespace berth::feasible {

std::set<std::string> required_drivers(const model::TaskGroup& group) {
  std::set<std::string> out;
  for (const model::Task& task : group.tasks) out.insert(task.driver);
  return out;
}

std::set<std::string> required_secret_providers(const model::TaskGroup& group) {
  std::set<std::string> out;
  for (const model::Task& task : group.tasks)
    for (const json::Value& secret : task.secrets.items()) out.insert(secret["Provider"].as_string());
  return out;
}

bool has_driver(const model::Node& node, const std::string& driver) {
  if (const auto it = node.drivers.find(driver); it != node.drivers.end())
    return it->second && it->second->detected && it->second->healthy;  // the attribute is not asked then
  const auto it = node.attributes.find("driver." + driver);
  return it != node.attributes.end() && base::parse_bool(it->second).value_or(false);
}

bool has_drivers(const model::Node& node, const std::set<std::string>& drivers) {
  return std::all_of(drivers.begin(), drivers.end(), [&](const std::string& d) { return has_driver(node, d); });
}

bool has_secret_providers(const model::Node& node, const std::set<std::string>& providers) {
  return std::all_of(providers.begin(), providers.end(), [&](const std::string& provider) {
    return node.attributes.contains("plugins.secrets." + provider + ".version");
  });
}

}  // namespace berth::feasible
