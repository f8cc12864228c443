// Edits of a job file: JSON Patches that take one thing out of a group or put another in its place.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "advice/place.h"
#include "model/job.h"

namespace berth::advice {

[[nodiscard]] json::Value add(const Place& place, json::Value value);
[[nodiscard]] json::Value removal(const Place& place);
[[nodiscard]] json::Value patch_of(json::Value operation);

/// Whether a place comes behind another one, numbers by their value: what is removed there first moves nothing before.
[[nodiscard]] bool later_place(const std::string& a, const std::string& b);

/// One group of a job file. Null patches: the file does not have what is named, for example an implied constraint.
class JobFile {
 public:
  /// `job`: what registration made of the document, which both must outlive this.
  JobFile(const json::Value& document, const model::Job& job, const std::string& group);

  /// Only constraints of the file: those that registration adds would come back (R-MODEL-240 to 246).
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
