// What happens in a life, in order: the steps of the workload file with everything drawn from the seed, and refused
// where they name what does not exist, come before its time or contradict each other. Nothing has run by then.
//
//   happenings    by time, then in the order of the file: one thing to some nodes or jobs
//   faults        the occurrences of what disturbs the cluster, as the report counts them; a happening names its own
// Nodes are positions in GeneratedCluster::nodes, jobs positions in JobStream::arrivals.
#pragma once

#include "berth/result.h"
#include "sim/generated_cluster.h"
#include "sim/job_stream.h"
#include "sim/workload.h"

namespace berth::sim {

inline constexpr std::uint32_t kNoFault = ~0u;

struct Happening {
  std::int64_t at_ns = 0;
  Deed deed = Deed::gc;    ///< never one of the faults, but those that only faults are made of
  std::uint32_t step = 0;  ///< in LifeSpec::steps: how
  std::uint32_t fault = kNoFault;
  bool begins = false;        ///< the fault's hits are what runs on its nodes now
  bool machine_lost = false;  ///< client_restart, unreachable: nothing on the node goes on
  std::vector<std::uint32_t> nodes, jobs;
  std::int64_t length_ns = 0;  ///< client_restart: down; report_lag: lag, 0 ends it; task_failures: how long
  double factor = 1;           ///< scale by a curve
};

struct PlannedFault {
  std::uint32_t step = 0;
  std::int64_t at_ns = 0, until_ns = kForGood;  ///< what caused it is over
  std::uint32_t nodes = 0, jobs = 0;            ///< that it touches
};

struct LifePlan {
  std::vector<Happening> happenings;
  std::vector<PlannedFault> faults;
};

[[nodiscard]] Result<LifePlan> plan_life(const Workload& workload, const GeneratedCluster& cluster,
                                         const JobStream& jobs);
/// Adds the arrivals that only a life has: named jobs, and kinds that arrive by a curve. Numbers go on.
void add_life_arrivals(JobStream& jobs, const Workload& workload);

}  // namespace berth::sim
