#include "http/go_shape.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace berth::http {

namespace {

/// Fields of a job with objects of the API, single or in a list, and their type.
struct Holder {
  std::string_view field, type;
};
constexpr Holder kHolders[] = {
    {"Affinities", "Affinity"},
    {"Artifacts", "TaskArtifact"},
    {"Checks", "ServiceCheck"},
    {"Connect", "ConsulConnect"},
    {"Constraints", "Constraint"},
    {"Devices", "RequestedDevice"},
    {"Disconnect", "DisconnectStrategy"},
    {"DynamicPorts", "Port"},
    {"EphemeralDisk", "EphemeralDisk"},
    {"Job", "Job"},
    {"Lifecycle", "TaskLifecycle"},
    {"LogConfig", "LogConfig"},
    {"Migrate", "MigrateStrategy"},
    {"Networks", "NetworkResource"},
    {"ParameterizedJob", "ParameterizedJobConfig"},
    {"Periodic", "PeriodicConfig"},
    {"ReschedulePolicy", "ReschedulePolicy"},
    {"ReservedPorts", "Port"},
    {"Resources", "Resources"},
    {"RestartPolicy", "RestartPolicy"},
    {"Services", "Service"},
    {"SpreadTarget", "SpreadTarget"},
    {"Spreads", "Spread"},
    {"TaskGroups", "TaskGroup"},
    {"Tasks", "Task"},
    {"Templates", "Template"},
    {"Update", "UpdateStrategy"},
    {"VolumeMounts", "VolumeMount"},
};

std::string_view held_by(std::string_view field) {
  const auto* const found = std::lower_bound(std::begin(kHolders), std::end(kHolders), field,
                                             [](const Holder& one, std::string_view name) { return one.field < name; });
  return found != std::end(kHolders) && found->field == field ? found->type : std::string_view();
}

/// The steps of a JSON pointer without positions in lists, as in Go's decoder.
std::vector<std::string> fields_of(std::string_view pointer, const json::Value& body, const json::Value*& value) {
  std::vector<std::string> out;
  value = &body;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string key(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(key.size());
    if (!value) continue;
    if (value->is_array()) {
      std::size_t index = 0;
      std::from_chars(key.data(), key.data() + key.size(), index);
      value = index < value->size() ? &value->items()[index] : nullptr;
      continue;
    }
    out.push_back(key);
    value = value->find_ignoring_case(key);
  }
  return out;
}

/// Go's type of the field, derived from the error of reading it; "": unknown.
std::string go_type(const std::string& problem, std::string_view field) {
  const std::string_view holds = held_by(field);
  const auto says = [&](std::string_view text) { return problem.find(text) != std::string::npos; };
  if (says("expected a job")) return "api.Job";
  if (says("expected a string")) return "string";
  if (says("expected true or false")) return "bool";
  if (says("expected a list")) return holds.empty() ? "" : "[]*api." + std::string(holds);
  if (says("expected an object")) return holds.empty() ? "" : "api." + std::string(holds);
  if (says("outside -128..127")) return "int8";
  if (says("outside 0..255")) return "uint8";
  if (says("expected an integer")) return field == "Weight" ? "int8" : "int";
  return "";
}

}  // namespace

const char* go_kind(const json::Value& value) {
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  if (value.is_string()) return "string";
  return value.is_bool() ? "bool" : "number";
}

std::string go_shape_problem(const InputError& error, const json::Value& body, std::string_view request) {
  const std::string clear = error.place.empty() ? error.problem : error.place + ": " + error.problem;
  const json::Value* value = nullptr;
  const std::vector<std::string> fields = fields_of(error.place, body, value);
  if (fields.empty() || !value) return clear;
  const std::string type = go_type(error.problem, fields.back());
  const std::string_view in = fields.size() == 1 ? request : held_by(fields[fields.size() - 2]);
  if (type.empty() || in.empty()) return clear;
  std::string path;
  for (const std::string& field : fields) path += "." + field;
  const bool shows = value->is_number() && type.find("int") != std::string::npos;  // a number that does not fit
  return "json: cannot unmarshal " + std::string(go_kind(*value)) + (shows ? " " + json::to_text(*value) : "") +
         " into Go struct field " + std::string(in) + path + " of type " + type;
}

}  // namespace berth::http
