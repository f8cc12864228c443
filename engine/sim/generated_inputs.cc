#include "sim/arrivals.h"
#include "sim/cluster_generator.h"
#include "sim/inputs.h"
#include "sim/job_generator.h"

namespace berth::sim {

Inputs generate_inputs(const Workload& workload) {
  Inputs out{
      generate_cluster(workload.cluster, workload.seed), generate_jobs(workload.jobs, workload.seed), {}, {}, {}};
  set_due_times(out.jobs, workload.arrivals, workload.seed);
  order_arrivals(out.jobs);
  return out;
}

}  // namespace berth::sim
