// Edits of a job file: JSON Patches that remove or replace one thing in a group.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "advice/place.h"
#include "model/resources.h"

namespace berth::advice {

[[nodiscard]] json::Value add(const Place& place, json::Value value);
[[nodiscard]] json::Value removal(const Place& place);
[[nodiscard]] json::Value patch_of(json::Value operation);

/// True if place `a` comes after `b`, with numbers compared by value. Removing later places first keeps earlier ones
/// valid.
[[nodiscard]] bool later_place(const std::string& a, const std::string& b);

/// One group of a job file. A null patch means that the file does not contain the thing, e.g. an implied constraint.
class JobFile {
 public:
  /// `job`: the registered job of the document. Both must outlive this object.
  JobFile(const json::Value& document, const model::Job& job, const std::string& group);

  /// Only for constraints in the file: registration would add its own again (R-MODEL-240 to 246).
  [[nodiscard]] json::Value without_constraint(const std::string& text) const;
  [[nodiscard]] json::Value without_device(const std::string& task, const model::RequestedDevice& device) const;
  [[nodiscard]] json::Value without_volume(const std::string& name) const;
  [[nodiscard]] json::Value with_host_network() const;
  [[nodiscard]] json::Value with_default_host_network(const std::string& label) const;
  [[nodiscard]] json::Value with_dynamic_port(const std::string& label, std::int64_t value) const;
  [[nodiscard]] json::Value with_datacenter(const std::string& datacenter) const;
  [[nodiscard]] json::Value with_pool(const std::string& pool) const;

 private:
  [[nodiscard]] std::vector<Place> networks() const;

  const model::Job& job_;
  const model::TaskGroup* group_;
  Place job_place_, place_;
  std::vector<Place> tasks_;
  std::map<std::string, std::vector<Place>> constraints_;  // by text
};

}  // namespace berth::advice
