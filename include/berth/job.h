// A job as input: read, completed with defaults and validated as a registration does it, before any cluster sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"

namespace berth {

/// Values of the variables of an HCL job file.
struct HclInput {
  std::vector<std::string> variables;  ///< "name=value", as of -var
  std::string variable_content;        ///< text of a variable file
  bool strict = true;                  ///< a value of an undeclared variable is an error
};

/// An immutable value; copies share what they hold.
class Job {
 public:
  /// Reads {"Job": {...}} as `nomad job run -output` writes it, or the object within. Errors: text that is no JSON, a
  /// mistyped field (the error names its JSON pointer), a job that the rules refuse (the problem is Nomad's text).
  /// `path` is named in errors.
  [[nodiscard]] static Result<Job> from_json(std::string_view text, const std::string& path = "-");
  /// Reads an HCL job file (native or JSON syntax) instead; the problem of an error is Nomad's text, one line per
  /// place. `path` is what places name. File functions are refused.
  [[nodiscard]] static Result<Job> from_hcl(std::string_view text, const HclInput& input = {},
                                            const std::string& path = "job.hcl");
  /// Either of them, by what the text is.
  [[nodiscard]] static Result<Job> from_text(std::string_view text, const std::string& path = "-");
  /// As from_text, from a file, plain or gzip.
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
  struct Reading;  // what all ways in share
  explicit Job(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace berth
