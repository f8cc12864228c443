#include "http/stores/rights.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace berth::http {

namespace {

using Granted = std::map<std::string, Capabilities>;

template <class BitOf>
void grant(const PolicyBlock& block, BitOf bit_of, Granted& out) {
  Capabilities& here = out[block.name];
  for (const std::string& name : block.capabilities) here |= bit_of(name);
  if ((here & kDeny) != 0) here = kDeny;  // `deny` of any policy wins for the same name
}

Rights::Level level_of(const std::optional<std::string>& word) {
  if (!word) return Rights::Level::none;
  if (*word == "deny") return Rights::Level::deny;
  if (*word == "write") return Rights::Level::write;
  if (*word == "read") return Rights::Level::read;
  return *word == "list" ? Rights::Level::list : Rights::Level::none;
}

std::string path_key(std::string_view name_space, std::string_view path) {
  std::string out(name_space);
  out += '\0';
  return out += path;
}

}  // namespace

Capabilities Rights::Named::of(std::string_view name) const {
  if (const auto at = exact.find(name); at != exact.end()) return at->second;
  Capabilities out = 0;
  std::optional<std::ptrdiff_t> best;
  for (const auto& [glob, granted] : globs) {
    if (!base::glob_match(glob, name)) continue;
    const std::ptrdiff_t stars = std::count(glob.begin(), glob.end(), '*');
    const std::ptrdiff_t difference =
        static_cast<std::ptrdiff_t>(name.size()) - static_cast<std::ptrdiff_t>(glob.size()) + stars;
    if (best && *best < difference) continue;  // among equals the bytewise last wins
    best = difference;
    out = granted;
  }
  return out;
}

bool Rights::Named::any(Capabilities wanted) const {
  const auto grants = [&](const auto& row) { return (row.second & wanted) != 0; };
  return std::any_of(exact.begin(), exact.end(), grants) || std::any_of(globs.begin(), globs.end(), grants);
}

Rights::Named Rights::named(const Granted& granted) {
  Named out;
  for (const auto& [name, capabilities] : granted)
    if (name.find('*') == std::string::npos)
      out.exact.emplace(name, capabilities);
    else
      out.globs.emplace_back(name, capabilities);
  return out;
}

Rights Rights::management() {
  Rights out;
  out.management_ = true;
  return out;
}

Rights Rights::of(const std::vector<const AclRules*>& policies) {
  Rights out;
  Granted namespaces, node_pools, host_volumes, variables;
  for (const AclRules* policy : policies) {
    for (const PolicyBlock& block : policy->namespaces) {
      grant(block, namespace_capability, namespaces);
      for (const PolicyPath& path : block.paths) {
        Capabilities& here = variables[path_key(block.name, path.spec)];
        for (const std::string& name : path.capabilities) here |= variable_capability(name);
      }
    }
    for (const PolicyBlock& block : policy->node_pools) grant(block, node_pool_capability, node_pools);
    for (const PolicyBlock& block : policy->host_volumes) grant(block, host_volume_capability, host_volumes);
    for (const auto& [word, level] : {std::pair(&policy->agent, &out.agent_), std::pair(&policy->node, &out.node_),
                                      std::pair(&policy->plugin, &out.plugin_)})
      *level = std::max(*level, level_of(*word));
    if (!policy->operators) continue;
    out.operators_ = std::max(out.operators_, level_of(policy->operators->policy));
    for (const std::string& name : policy->operators->capabilities)
      out.operator_capabilities_ |= operator_capability(name);
  }
  if ((out.operator_capabilities_ & kDeny) != 0) out.operator_capabilities_ = kDeny;
  out.namespaces_ = named(namespaces), out.node_pools_ = named(node_pools);
  out.host_volumes_ = named(host_volumes), out.variables_ = named(variables);
  return out;
}

bool Rights::in_namespace(std::string_view name_space, Capabilities wanted) const {
  if (management_) return true;
  if (name_space == "*") return namespaces_.any(wanted);
  return (namespaces_.of(name_space) & wanted) != 0;
}

bool Rights::sees_namespace(std::string_view name_space) const {
  if (management_) return true;
  const Capabilities granted = namespaces_.of(name_space);
  return granted != 0 && (granted & kDeny) == 0;
}

bool Rights::node_pool(std::string_view pool, Capabilities wanted) const {
  return management_ || (node_pools_.of(pool) & wanted) != 0;
}

bool Rights::host_volume(std::string_view source, Capabilities wanted) const {
  return management_ || (host_volumes_.of(source) & wanted) != 0;
}

bool Rights::on_operator(Capabilities wanted) const {
  if (management_ || operators_ == Level::write) return true;
  return operators_ != Level::deny && (operator_capabilities_ & wanted) != 0;
}

bool Rights::variable(const std::string& name_space, const std::string& path, Capabilities wanted) const {
  return management_ || (variables_.of(path_key(name_space, path)) & wanted) != 0;
}

bool Rights::any_variable(const std::string& name_space, Capabilities wanted) const {
  if (management_ || name_space == "*") return management_ || variables_.any(wanted);
  const auto grants = [&](const auto& row) {
    const std::string_view key = row.first;
    return (row.second & wanted) != 0 && base::glob_match(key.substr(0, key.find('\0')), name_space);
  };
  return std::any_of(variables_.exact.begin(), variables_.exact.end(), grants) ||
         std::any_of(variables_.globs.begin(), variables_.globs.end(), grants);
}

bool Rights::any_node_pool(Capabilities wanted) const { return management_ || node_pools_.any(wanted); }

}  // namespace berth::http
