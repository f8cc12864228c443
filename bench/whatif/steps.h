// Changes of a cluster, given as options of `berth whatif` or as lines of a file of steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/result.h"
#include "whatif/selector.h"

namespace berth::whatif {

/// Maximum count of a group: Nomad's job_max_count.
inline constexpr std::int64_t kCountMost = 50'000;

/// Names the score of Nomad's algorithm among the strategies.
inline constexpr std::string_view kNomadStrategy = "nomad";

/// An error with this text.
[[nodiscard]] inline tl::unexpected<std::string> wrong(std::string text) { return tl::unexpected(std::move(text)); }

enum class Change : std::uint8_t {
  drain,       ///< SELECTOR
  remove,      ///< SELECTOR: machines with their tasks disappear, and the nodes are purged
  lose,        ///< SELECTOR: machines fail silently; the servers detect missing heartbeats
  add,         ///< N nodes like another one or of a shape
  edit,        ///< SELECTOR KEY=VALUE: an attribute, a meta value, the class, the datacenter or the pool
  scale,       ///< JOB/GROUP=N
  stop,        ///< JOB
  submit,      ///< FILE of a job
  config,      ///< algorithm=binpack or algorithm=spread
  preemption,  ///< SCHEDULER=on or SCHEDULER=off
  strategy,    ///< NAME or expr:FORMULA: of the registry, or "nomad"
  upgrade,     ///< SELECTOR: drained in batches; each returns before the next begins
};

struct JobName {
  std::string id, name_space = "default";
};

/// A change whose text has been checked. Whether its nodes and jobs exist is checked when it is made.
struct Step {
  Change change = Change::drain;
  std::string words;  ///< as given: "drain meta.rack=r7"
  Selector nodes;
  JobName job;
  std::string group, key, value, file;
  std::string like;                                      ///< add: selector of the node to copy; "" with a shape
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;  ///< of a shape
  std::int64_t count = 0;
  bool on = false;
};

/// Name and arguments of a step, in the order of the help text.
struct StepName {
  std::string_view name, takes, about;
  Change change;
};
[[nodiscard]] const std::vector<StepName>& step_names();

/// `words`: the arguments after the name. `add` also needs with_like() or with_shape(). Errors name the step.
[[nodiscard]] Result<Step, std::string> make_step(Change change, const std::vector<std::string>& words);

/// Sets the model of an `add`: `like` a node, or a `shape` "cpu=8000,memory=16384,disk=100000" (MHz and MiB).
[[nodiscard]] Result<void, std::string> with_like(Step& add, std::string_view like);
[[nodiscard]] Result<void, std::string> with_shape(Step& add, std::string_view shape);

/// Reads a file with one step per line, "drain meta.rack=r7" or "add 20 like=n1"; ignores empty lines and # comments.
[[nodiscard]] Result<std::vector<Step>> read_steps(const std::string& path);

}  // namespace berth::whatif
