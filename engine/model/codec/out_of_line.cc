// See out_of_line.h.
#include "model/codec/out_of_line.h"

#include "model/cluster.h"
#include "model/job.h"

namespace berth::model {

BERTH_DEFINE_COPIES(Allocation);
BERTH_DEFINE_COPIES(AllocMetric);
BERTH_DEFINE_COPIES(Node);
BERTH_DEFINE_COPIES(NodeResources);
BERTH_DEFINE_COPIES(Job);
BERTH_DEFINE_COPIES(TaskGroup);
BERTH_DEFINE_COPIES(Task);
BERTH_DEFINE_COPIES(Evaluation);
BERTH_DEFINE_COPIES(Deployment);
BERTH_DEFINE_COPIES(Plan);
BERTH_DEFINE_COPIES(CsiVolume);
BERTH_DEFINE_COPIES(Resources);
BERTH_DEFINE_COPIES(AllocatedResources);
BERTH_DEFINE_COPIES(AllocatedTask);
BERTH_DEFINE_COPIES(ClusterState);

}  // namespace berth::model
