// A job as input: read, completed with defaults and validated like at registration, independent of any cluster.
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
  std::vector<std::string> variables;  ///< "name=value", as with -var
  std::string variable_content;        ///< text of a variable file
  bool strict = true;                  ///< a value of an undeclared variable is an error
};

/// An immutable value; copies share their data.
class Job {
 public:
  /// Reads {"Job": {...}} as written by `nomad job run -output`, or the inner object. Errors: text that is no JSON, a
  /// mistyped field (with its JSON pointer), a job that the rules refuse (with Nomad's text). Errors contain `path`.
  [[nodiscard]] static Result<Job> from_json(std::string_view text, const std::string& path = "-");
  /// Reads an HCL job file (native or JSON syntax). The problem of an error is Nomad's text, one line per place, with
  /// `path`. File functions are refused.
  [[nodiscard]] static Result<Job> from_hcl(std::string_view text, const HclInput& input = {},
                                            const std::string& path = "job.hcl");
  /// Reads JSON or HCL, whichever the text is.
  [[nodiscard]] static Result<Job> from_text(std::string_view text, const std::string& path = "-");
  /// As from_text, from a file, plain or gzip.
  [[nodiscard]] static Result<Job> from_file(const std::string& path);

  [[nodiscard]] const std::string& id() const;
  [[nodiscard]] const std::string& job_namespace() const;  ///< "default" if the input has none
  [[nodiscard]] const std::string& type() const;           ///< service, batch, system or sysbatch
  [[nodiscard]] std::int64_t priority() const;             ///< 1 to 100, default 50
  /// Sum of the groups' counts; system and sysbatch groups: per node.
  [[nodiscard]] std::int64_t count() const;
  /// Warnings about an accepted job, one line each, e.g. on unknown keys ("Datacentres") and duplicate keys.
  [[nodiscard]] const std::vector<std::string>& warnings() const;

 private:
  friend class Cluster;
  friend class LivingCluster;
  struct Impl;
  struct Reading;  // shared by all from_ functions
  explicit Job(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace berth
