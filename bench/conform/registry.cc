#include "conform/registry.h"

namespace berth::conform {

// Each area's adapter file defines one of these.
#define BERTH_CONFORM_AREAS(X) \
  X(rank)                      \
  X(matching)                  \
  X(resources)                 \
  X(jobs)                      \
  X(job_file)                  \
  X(reconcile)                 \
  X(evaluation)                \
  X(preempt)                   \
  X(control_broker)            \
  X(control_blocked)           \
  X(control_log)               \
  X(control_plan)              \
  X(client)                    \
  X(gc)                        \
  X(lifecycle)                 \
  X(nodes)                     \
  X(timed)

#define BERTH_X(area) std::span<const Component> area##_components();
BERTH_CONFORM_AREAS(BERTH_X)
#undef BERTH_X

std::span<const Component> components() {
  static const std::vector<Component> all = [] {
    std::vector<Component> out;
#define BERTH_X(area) \
  for (const Component& c : area##_components()) out.push_back(c);
    BERTH_CONFORM_AREAS(BERTH_X)
#undef BERTH_X
    return out;
  }();
  return all;
}

Replay find_component(std::string_view name) {
  for (const Component& component : components())
    if (component.file == name) return component.replay;
  return nullptr;
}

}  // namespace berth::conform
