// The real GPU cluster and task list of openb, and clusters of any size like it.
//
// Units: 1 vCPU = 1000 MHz, so cpu_milli is MHz; memory_mib is MiB. The data has no disk: nodes get 1 TiB, tasks
// request 0.
// GPUs: a node has one device group alibaba/gpu/<model> with `gpu_shares` instances per physical GPU. A task requests
// ceil(gpu_milli * gpu_shares / 1000) instances per GPU. Nomad shares no devices, so `gpu_shares` is one of
//   1     whole: a task that needs part of a GPU takes a whole one, as under Nomad
//   100   hundredths: all sizes in the data are multiples of 10 milli-GPU, so every sum is exact. Such a task may get
//         shares of two GPUs, which the real cluster forbids: packing looks slightly better than it is.
#pragma once

#include "sim/generated_cluster.h"
#include "sim/job_stream.h"
#include "sim/workload.h"

namespace berth::sim {

struct OpenbNode {
  std::string name, model;
  std::int64_t cpu_milli = 0, memory_mib = 0, gpus = 0;
};

struct OpenbTask {
  std::string name, gpu_spec, qos, phase;
  std::int64_t cpu_milli = 0, memory_mib = 0, gpus = 0, gpu_milli = 0;
  std::int64_t created_s = 0, deleted_s = 0, scheduled_s = 0;  ///< scheduled_s: created_s if not in the list
};

/// Reads a node or task list. Columns are bound by their header; errors name file, line and column. `text` is the
/// content of `path`.
[[nodiscard]] Result<std::vector<OpenbNode>> parse_openb_nodes(std::string_view text, const std::string& path);
/// Without `times` the columns of times, QoS and phase are not read.
[[nodiscard]] Result<std::vector<OpenbTask>> parse_openb_tasks(std::string_view text, const std::string& path,
                                                               bool times = true);

/// Power of the node, from the table of Lettich et al., CCGrid 2025 (arXiv 2412.17484), by GPU model: the data do not
/// name processors, so the study assigns each GPU model the processor that Alibaba Cloud offers with it. The
/// undisclosed models G2 and G3 have the powers that the authors' code assumes. nullopt: the model is not in the table.
[[nodiscard]] std::optional<strategy::NodeRates> openb_rates(const OpenbNode& node);
[[nodiscard]] GeneratedCluster openb_cluster(const std::vector<OpenbNode>& nodes, std::int64_t gpu_shares,
                                             std::uint64_t seed);
/// One batch job of one task per row, due at creation_time, with the run time deletion - scheduled. QoS determines the
/// priority: LS and Guaranteed 70, Burstable 50, BE 20. A task of phase Failed fails. `count` 0 = all rows.
[[nodiscard]] JobStream openb_jobs(const std::vector<OpenbTask>& tasks, std::int64_t gpu_shares, std::int64_t count);

/// The summary of datasets/openb-summary.json: node shapes and task classes with counts, run times and gaps as
/// quantiles.
struct OpenbSummary {
  struct NodeShape {
    OpenbNode node;  ///< without name
    std::int64_t count = 0;
  };
  struct TaskClass {
    OpenbTask task;  ///< without name, phase and times
    std::int64_t count = 0;
    std::size_t run_time = 0;  ///< index into run_times_s
  };
  std::vector<NodeShape> nodes;
  std::vector<TaskClass> tasks;
  std::vector<Quantity> run_times_s;  ///< one per kind of task: cpu only, part of a GPU, whole GPUs
  Quantity gaps_ms;                   ///< between arrivals
  std::int64_t node_count = 0;        ///< of the recorded cluster, to which the gaps belong
};

[[nodiscard]] Result<OpenbSummary> parse_openb_summary(std::string_view text, const std::string& path);
[[nodiscard]] GeneratedCluster openb_like_cluster(const OpenbSummary& summary, std::int64_t nodes, std::int64_t racks,
                                                  std::int64_t gpu_shares, std::uint64_t seed);
/// Tasks drawn by class. Their recorded times are sums of drawn gaps, scaled by recorded / actual cluster size.
[[nodiscard]] JobStream openb_like_jobs(const OpenbSummary& summary, std::int64_t nodes, std::int64_t count,
                                        std::int64_t gpu_shares, std::uint64_t seed);

}  // namespace berth::sim
