// The plan of a simulation ([life] of a workload), made before anything runs: the steps of the file in order of time,
// with everything drawn from the seed. Refuses steps that name what does not exist, come too early or contradict each
// other.
//
//   happenings    single events on some nodes or jobs, by time, then in the order of the file
//   faults        occurrences of faults, as the report counts them; a happening refers to its fault
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
  LifeAction action = LifeAction::gc;  ///< an event, never a fault
  std::uint32_t step = 0;              ///< in LifeSpec::steps: its details
  std::uint32_t fault = kNoFault;
  bool begins = false;        ///< the fault hits what now runs on its nodes
  bool machine_lost = false;  ///< client_restart, unreachable: all tasks on the node end
  std::vector<std::uint32_t> nodes, jobs;
  std::int64_t length_ns = 0;  ///< client_restart: downtime; report_lag: lag, 0 ends it; task_failures: duration
  double factor = 1;           ///< scale_curve: factor of the first count
};

struct PlannedFault {
  std::uint32_t step = 0;
  std::int64_t at_ns = 0, until_ns = kForGood;  ///< until_ns: end of the cause
  std::uint32_t nodes = 0, jobs = 0;            ///< number of affected nodes, jobs
};

struct LifePlan {
  std::vector<Happening> happenings;
  std::vector<PlannedFault> faults;
};

[[nodiscard]] Result<LifePlan> plan_life(const Workload& workload, const GeneratedCluster& cluster,
                                         const JobStream& jobs);
/// Adds the arrivals that only a simulation has: named jobs, and kinds that arrive by a curve. Their numbers continue
/// those of `jobs`.
void add_life_arrivals(JobStream& jobs, const Workload& workload);

}  // namespace berth::sim
