// Changes to a cluster, as flags of `berth whatif` or as lines of a file of steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/result.h"
#include "whatif/selector.h"

namespace berth::whatif {

/// Of a group: Nomad's job_max_count.
inline constexpr std::int64_t kCountMost = 50'000;

/// An error in words.
[[nodiscard]] inline tl::unexpected<std::string> wrong(std::string text) { return tl::unexpected(std::move(text)); }

enum class Change : std::uint8_t {
  drain,       ///< SELECTOR
  remove,      ///< SELECTOR: machines and what runs on them are gone, and the nodes are purged
  lose,        ///< SELECTOR: machines fall silent; the servers notice by missing heartbeats
  add,         ///< N nodes like another one or of a shape
  edit,        ///< SELECTOR KEY=VALUE: an attribute, a meta value, the class, the datacenter or the pool
  scale,       ///< JOB/GROUP=N
  stop,        ///< JOB
  submit,      ///< FILE of a job
  config,      ///< algorithm=binpack or algorithm=spread
  preemption,  ///< SCHEDULER=on or SCHEDULER=off
  upgrade,     ///< SELECTOR: drained in batches, each of which comes back before the next one goes
};

struct JobName {
  std::string id, name_space = "default";
};

/// One change, checked as far as its text goes; whether its nodes and jobs exist is found when it is made.
struct Step {
  Change change = Change::drain;
  std::string words;  ///< as it was written: "drain meta.rack=r7"
  Selector nodes;
  JobName job;
  std::string group, key, value, file;
  std::string like;                                      ///< add: a selector of the one node to copy; "" with a shape
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;  ///< of a shape
  std::int64_t count = 0;
  bool on = false;
};

/// Names and what they take, in the order in which help lists them.
struct StepName {
  std::string_view name, takes, about;
  Change change;
};
[[nodiscard]] const std::vector<StepName>& step_names();

/// `words`: the arguments after the name. `add` needs one more: see with_model(). Errors name the step.
[[nodiscard]] Result<Step, std::string> make_step(Change change, const std::vector<std::string>& words);

/// Says what the nodes of an `add` are: `like` a node, or a `shape` "cpu=8000,memory=16384,disk=100000" (MHz and MiB).
[[nodiscard]] Result<void, std::string> with_like(Step& add, std::string_view like);
[[nodiscard]] Result<void, std::string> with_shape(Step& add, std::string_view shape);

/// A file with one step a line, "drain meta.rack=r7" or "add 20 like=n1"; empty lines and lines with # are passed over.
[[nodiscard]] Result<std::vector<Step>> read_steps(const std::string& path);

}  // namespace berth::whatif
