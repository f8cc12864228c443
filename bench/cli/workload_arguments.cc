#include "cli/workload_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/build_info.h"
#include "berth/queue.h"
#include "cli/common.h"
#include "model/options.h"
#include "sim/datasets.h"
#include "sim/named_strategy.h"

namespace berth::cli {

void WorkloadArguments::add_to(CLI::App& command) {
  command.add_option(
      "workload", workload,
      "a workload file, the name of one in bench/macro, a cluster in files, as `berth import` reads it, or a "
      "performance-config.yaml of Kubernetes' scheduler_perf");
  command.add_option("--label", label, "size of the workload: smoke, full or another that its file lists")
      ->type_name("LABEL")
      ->capture_default_str();
  command.add_option("--seed", seed, "seed to use instead of the file's")->check(CLI::NonNegativeNumber);
  add_order(command, commits);
  command
      .add_option(
          "--strategy", strategy,
          "ranking strategy that replaces Nomad's fit score: NAME, NAME:KEY=VALUE or expr:FORMULA (default: nomad, "
          "Nomad's own score; see berth compare --list-strategies)")
      ->type_name("STRATEGY");
  command
      .add_option("--queue", queue,
                  fmt::format("order in which waiting evaluations are decided, NAME or NAME:KEY=VALUE: {} (see berth "
                              "compare --list-strategies; default: priority, as Nomad)",
                              queue_names()))
      ->type_name("POLICY");
  add_decision_options(command, options);
  command.add_option("--isa", isa, "instruction set to use instead of the best one (berth --version lists them)")
      ->type_name("NAME");
}

std::string queue_names() {
  std::string out;
  for (const strategy::QueueInfo* info : strategy::queue_registry().all())
    out += (out.empty() ? "" : ", ") + info->name;
  return out;
}

void add_order(CLI::App& command, std::string& commits) {
  command
      .add_option("--order", commits,
                  "how plans of several workers are committed: free (as they come, like Nomad) or deterministic "
                  "(the decisions of one worker)")
      ->check(CLI::IsMember({"free", "deterministic"}));
}

void add_workers(CLI::App& command, std::optional<std::int64_t>& workers, const std::string& about) {
  command.add_option("--workers", workers, about)->check(CLI::Range(1, 1024));
}

Result<void> WorkloadArguments::begin(const std::string& command) const {
  if (workload.empty())
    return tl::unexpected(InputError{command, "", "no workload was named", "name one, or see `berth run --list`"});
  if (!isa.empty() && !base::use_isa_path(isa))
    return tl::unexpected(InputError{command, "--isa",
                                     fmt::format("'{}' is not an ISA path of this build and machine", isa),
                                     fmt::format("name one of {}", fmt::join(base::isa_paths_usable(), ", "))});
  return {};
}

Result<sim::Workload> WorkloadArguments::read(const std::string& command) const {
  if (auto fine = begin(command); !fine) return tl::unexpected(fine.error());
  const auto path = sim::find_workload(workload);
  if (!path) return tl::unexpected(path.error());
  auto out = sim::read_workload(*path, label);
  if (!out) return out;
  if (seed) out->seed = static_cast<std::uint64_t>(*seed);
  if (!strategy.empty() && strategy != "nomad")
    if (const auto spec = sim::named_strategy(*out, strategy); !spec) return tl::unexpected(spec.error());
  if (!strategy.empty()) out->strategy = strategy;
  if (!queue.empty())
    if (const auto spec = strategy::queue_registry().parse(queue); !spec) return tl::unexpected(spec.error());
  if (!queue.empty()) out->queue = queue;
  for (const std::string& assignment : options)
    if (auto done = model::set_option(out->options, assignment); !done)
      return tl::unexpected(InputError{command, "--option", done.error(), "see --list-options"});
  if (!commits.empty()) out->commits = commits == "free" ? sim::CommitOrder::free : sim::CommitOrder::deterministic;
  return out;
}

std::vector<sim::Change> WorkloadArguments::changes(std::optional<std::int64_t> workers) const {
  std::vector<sim::Change> out;
  if (seed) out.push_back({"seed", std::to_string(*seed)});
  if (!strategy.empty()) out.push_back({"strategy", strategy});
  if (!queue.empty()) out.push_back({"queue", queue});
  if (!commits.empty()) out.push_back({"commits", commits});
  if (workers) out.push_back({"workers", std::to_string(*workers)});
  for (const std::string& assignment : options) {
    const std::size_t equals = assignment.find('=');
    out.push_back({"options." + assignment.substr(0, equals),
                   equals == std::string::npos ? std::string() : assignment.substr(equals + 1)});
  }
  return out;
}

}  // namespace berth::cli
