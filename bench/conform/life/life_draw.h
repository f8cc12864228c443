// Random nodes, jobs and changes by users, drawn from a simulation's seed, as plain values.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "base/random.h"
#include "model/cluster.h"

namespace berth::conform {

/// One stream of draws.
class Draw {
 public:
  Draw(std::uint64_t seed, std::string_view stream) : random_(seed, stream), has_gangs_(seed % 4 == 2) {}
  /// True for every fourth seed: its jobs may be gangs (model/gang.h). Other seeds keep the draws of earlier versions.
  [[nodiscard]] bool has_gangs() const { return has_gangs_; }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  [[nodiscard]] bool chance(unsigned percent) { return random_.below(100) < percent; }
  template <class T>
  [[nodiscard]] T one_of(std::initializer_list<T> values) {
    return values.begin()[random_.below(values.size())];
  }
  [[nodiscard]] std::string next_id() { return base::to_text({random_.next() | 1, random_.next()}); }

 private:
  base::Random random_;
  bool has_gangs_;
};

/// A cluster of a few nodes (some dozens in every tenth simulation) without jobs, with a drawn configuration.
[[nodiscard]] model::ClusterState draw_cluster(Draw& draw);
[[nodiscard]] model::SchedulerConfiguration draw_configuration(Draw& draw);
/// The node `n<number>`, ready.
[[nodiscard]] model::Node draw_node(Draw& draw, std::uint64_t number);
/// Changes a node like an operator who registers it again: a label, its class, its memory, a device.
void change_node(Draw& draw, model::Node& node);

/// `large`: for a cluster of dozens of nodes; groups may have counts of dozens.
[[nodiscard]] std::shared_ptr<model::Job> draw_job(Draw& draw, const std::string& name_space, const std::string& id,
                                                   bool large);
/// A typical change by a user: scaling, a new image, another amount, or an update in place.
void change_job(Draw& draw, model::Job& job);

}  // namespace berth::conform
