#include "tables/kinds.h"

#include <bit>

#include "base/text.h"
#include "match/target.h"
#include "model/job.h"

namespace berth::tables {
namespace {

using base::append_sized;

void append(std::string& out, const model::Attribute& a) {
  if (a.float_value) out += 'f' + std::to_string(std::bit_cast<std::uint64_t>(*a.float_value));
  if (a.int_value) out += 'i' + std::to_string(*a.int_value);
  if (a.bool_value) out += *a.bool_value ? "b1" : "b0";
  if (a.string_value) out += 's', append_sized(out, *a.string_value);
  out += 'u', append_sized(out, a.unit);
}

}  // namespace

void append_check_profile(const model::Node& node, std::string& out) {
  for (const auto& [name, driver] : node.drivers)
    append_sized(out, name), out += driver && driver->detected && driver->healthy ? '+' : '-';
  for (auto at = node.attributes.lower_bound("driver.");
       at != node.attributes.end() && at->first.starts_with("driver."); ++at)
    append_sized(out, at->first), append_sized(out, at->second);
  if (node.node_resources)
    for (const model::NetworkResource& network : node.node_resources->networks)
      out += 'n', append_sized(out, network.mode);
}

void append_other_profile(const model::Node& node, std::string& out) {
  if (!node.node_resources) return;
  if (node.node_resources->node_networks)
    for (const model::NodeNetworkResource& network : *node.node_resources->node_networks)
      for (const model::NodeNetworkAddress& address : network.addresses) append_sized(out, address.alias);
  for (const model::NodeDevice& device : node.node_resources->devices) {
    out += '\n';
    for (const std::string* text : {&device.vendor, &device.type, &device.name}) append_sized(out, *text);
    std::size_t healthy = 0;
    for (const model::DeviceInstance& instance : device.instances) healthy += instance.healthy;
    out += std::to_string(healthy) + ';';
    for (const auto& [name, attribute] : device.attributes) {
      append_sized(out, name);
      if (attribute) append(out, *attribute);
    }
  }
}

std::string checks_text(const CompiledJob& job, const CompiledGroup& group) {
  if (job.escapes || group.escapes) return {};
  std::string out;
  const auto numbers = [&](const std::vector<std::uint32_t>& list) {
    for (const std::uint32_t number : list) out += std::to_string(number) + ",";
    out += '\n';
  };
  numbers(job.constraints);
  numbers(group.constraints);
  numbers(group.driver_symbols);
  for (const std::string& secret : group.secrets) append_sized(out, secret);
  out += '\n';
  if (group.has_network) {
    const model::NetworkResource& network = group.spec->networks.front();
    append_sized(out, network.mode);
    for (const auto* ports : {&network.dynamic_ports, &network.reserved_ports})
      for (const model::Port& port : *ports) {
        if (port.host_network.empty()) continue;
        if (!match::parse_target(port.host_network).is_fixed()) return {};
        append_sized(out, port.label), append_sized(out, port.host_network);
      }
  }
  out += '\n';
  for (const model::Task& task : group.spec->tasks) {
    if (!task.resources) continue;
    for (const model::RequestedDevice& request : task.resources->devices) {
      append_sized(out, request.name);
      out += std::to_string(request.count) + ";";
      for (const model::Constraint& c : request.constraints)
        for (const std::string* text : {&c.ltarget, &c.operand, &c.rtarget}) {
          if (text->find("device.ids") != std::string::npos) return {};
          append_sized(out, *text);
        }
      out += '\n';
    }
  }
  return out;
}

}  // namespace berth::tables
