#include "store/record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <limits>

#include "io/json_parse.h"

namespace berth::store {

const char* kind_name(RunKind kind) {
  static constexpr const char* kNames[] = {"run", "comparison", "gate"};
  return kNames[static_cast<std::size_t>(kind)];
}

double Record::value(const std::string& name) const {
  for (const auto& [key_of_value, number] : results)
    if (key_of_value == name) return number;
  return std::numeric_limits<double>::quiet_NaN();
}

std::string moment_key(std::size_t number) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return fmt::format("{:016x}{:08x}{:08x}", ns, getpid(), number);
}

std::string to_text(const Record& record) {
  json::Value out = json::Object{{"key", record.key},
                                 {"workload", record.workload},
                                 {"label", record.label},
                                 {"repetition", record.repetition},
                                 {"status", record.status},
                                 {"message", record.message},
                                 {"commit", record.commit},
                                 {"build", record.build},
                                 {"machine", record.machine},
                                 {"decisions_digest", record.digest},
                                 {"started", record.started},
                                 {"seconds", record.seconds},
                                 {"processor_seconds", record.processor_s}};
  json::Value& parameters = out.set("parameters", json::Value::object());
  for (const sim::Change& change : record.changes) parameters.set(change.key, change.value);
  json::Value& results = out.set("results", json::Value::object());
  for (const auto& [name, value] : record.results) results.set(name, value);
  return json::to_text(out);
}

Result<Record> parse_record(std::string_view text, const std::string& path) {
  const auto value = io::parse_json(text, path);
  if (!value || (*value)["key"].as_string().size() != 32 || (*value)["status"].as_string().empty())
    return tl::unexpected(InputError{path, "", "is no record of a run", "run it alone to see why"});
  Record out;
  out.key = (*value)["key"].as_string(), out.status = (*value)["status"].as_string();
  out.workload = (*value)["workload"].as_string(), out.label = (*value)["label"].as_string();
  out.repetition = (*value)["repetition"].as_int(), out.message = (*value)["message"].as_string();
  out.build = (*value)["build"].as_string(), out.machine = (*value)["machine"].as_string();
  out.commit = (*value)["commit"].as_string(), out.digest = (*value)["decisions_digest"].as_string();
  out.started = (*value)["started"].as_double(), out.seconds = (*value)["seconds"].as_double();
  out.processor_s = (*value)["processor_seconds"].as_double();
  for (const json::Member& one : (*value)["parameters"].members())
    out.changes.push_back({one.key, one.value.as_string()});
  for (const json::Member& one : (*value)["results"].members())
    if (one.value.is_number()) out.results.emplace_back(one.key, one.value.as_double());
  return out;
}

}  // namespace berth::store
