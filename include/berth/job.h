// A job as input: read, completed with defaults and validated as a registration does it, before any cluster sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"

namespace berth {

/// An immutable value; copies share what they hold.
class Job {
 public:
  /// Reads {"Job": {...}} as `nomad job run -output` writes it, or the object within. Errors: text that is no JSON, a
  /// mistyped field (the error names its JSON pointer), a job that the rules refuse (the problem is Nomad's text).
  /// `path` is named in errors.
  [[nodiscard]] static Result<Job> from_json(std::string_view text, const std::string& path = "-");
  /// As from_json, from a file, plain or gzip.
  [[nodiscard]] static Result<Job> from_file(const std::string& path);

  [[nodiscard]] const std::string& id() const;
  [[nodiscard]] const std::string& job_namespace() const;  ///< "default" when the input says nothing
  [[nodiscard]] const std::string& type() const;           ///< service, batch, system or sysbatch
  [[nodiscard]] std::int64_t priority() const;             ///< 1 to 100, default 50
  /// Allocations that the groups ask for together; system and sysbatch groups ask for one per node.
  [[nodiscard]] std::int64_t count() const;
  /// Remarks on an accepted job, one line each; keys that no job has ("Datacentres") and keys that stand twice are
  /// among them.
  [[nodiscard]] const std::vector<std::string>& warnings() const;

 private:
  friend class Cluster;
  friend class LivingCluster;
  struct Impl;
  explicit Job(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace berth
