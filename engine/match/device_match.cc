#include "match/device_match.h"

namespace berth::match {

DeviceName parse_device_name(std::string_view text) {
  DeviceName out;
  if (text.empty()) {
    out.matches_nothing = true;
    return out;
  }
  const std::size_t first = text.find('/');
  if (first == std::string_view::npos) {
    out.type = text;
    return out;
  }
  out.vendor = text.substr(0, first);
  text.remove_prefix(first + 1);
  const std::size_t second = text.find('/');
  out.type = text.substr(0, second);
  if (second != std::string_view::npos) out.name = text.substr(second + 1);  // may itself contain slashes
  return out;
}

bool matches(const DeviceName& request, const model::NodeDevice& group) {
  const auto agrees = [](const std::string& wanted, const std::string& given) {
    return wanted.empty() || wanted == given;
  };
  return !request.matches_nothing && agrees(request.vendor, group.vendor) && agrees(request.type, group.type) &&
         agrees(request.name, group.name);
}

DeviceTarget parse_device_target(std::string_view text) {
  constexpr std::string_view kAttr = "${device.attr.";
  if (!text.starts_with("${")) return {DeviceTargetKind::literal, {}, parse_device_literal(text)};
  if (text == "${device.ids}") return {DeviceTargetKind::ids, {}, {}};
  if (text == "${device.model}") return {DeviceTargetKind::model, {}, {}};
  if (text == "${device.vendor}") return {DeviceTargetKind::vendor, {}, {}};
  if (text == "${device.type}") return {DeviceTargetKind::type, {}, {}};
  if (text.starts_with(kAttr)) {
    text.remove_prefix(kAttr.size());
    if (text.ends_with('}')) text.remove_suffix(1);
    return {DeviceTargetKind::attribute, std::string(text), {}};
  }
  return {DeviceTargetKind::unresolved, {}, {}};
}

const model::Attribute* resolve(const DeviceTarget& target, const model::NodeDevice& group, model::Attribute& scratch) {
  const auto text = [&](std::string value) {
    scratch = {};
    scratch.string_value = std::move(value);
    return &scratch;
  };
  switch (target.kind) {
    case DeviceTargetKind::literal:
      return &target.literal;
    case DeviceTargetKind::ids: {  // unhealthy instances too
      std::string ids;
      for (const model::DeviceInstance& instance : group.instances) {
        if (&instance != &group.instances.front()) ids += ',';
        ids += instance.id;
      }
      return text(std::move(ids));
    }
    case DeviceTargetKind::model:
      return text(group.name);
    case DeviceTargetKind::vendor:
      return text(group.vendor);
    case DeviceTargetKind::type:
      return text(group.type);
    case DeviceTargetKind::attribute: {
      const auto it = group.attributes.find(target.key);
      return it != group.attributes.end() && it->second ? &*it->second : nullptr;
    }
    case DeviceTargetKind::unresolved:
      break;
  }
  return nullptr;
}

DeviceConstraint compile_device(std::string_view ltarget, std::string_view operand, std::string_view rtarget) {
  return {parse_device_target(ltarget), parse_device_target(rtarget), parse_operand(operand)};
}

Result<bool, NotANumber> holds(const DeviceConstraint& constraint, const model::NodeDevice& group, Patterns& patterns) {
  model::Attribute left_scratch, right_scratch;
  const model::Attribute* left = resolve(constraint.left, group, left_scratch);
  const model::Attribute* right = resolve(constraint.right, group, right_scratch);
  return evaluate_device(constraint.operand, left, right, patterns);
}

DeviceRequest compile_device(const model::RequestedDevice& request) {
  DeviceRequest out{parse_device_name(request.name), request.count, {}, {}};
  for (const model::Constraint& c : request.constraints)
    out.constraints.push_back(compile_device(c.ltarget, c.operand, c.rtarget));
  for (const model::Affinity& a : request.affinities)
    out.affinities.push_back({compile_device(a.ltarget, a.operand, a.rtarget), a.weight});
  return out;
}

Result<bool, NotANumber> matches(const DeviceRequest& request, const model::NodeDevice& group, Patterns& patterns) {
  if (!matches(request.name, group)) return false;
  for (const DeviceConstraint& constraint : request.constraints) {
    const auto result = holds(constraint, group, patterns);
    if (!result || !*result) return result;
  }
  return true;
}

}  // namespace berth::match
