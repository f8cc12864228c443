// One job in a state, for tests of requests.
#pragma once

#include "fsm/requests.h"
#include "model/job.h"
#include "support/cluster_objects.h"

namespace berth::fsm {

inline constexpr std::int64_t kRequestNow = 1'700'000'000 * base::kSecond;

inline std::string request_id(std::uint64_t kind, std::uint64_t number) {
  return base::to_text(base::Uuid{kind, number});
}

/// One stored job "j" with the groups "web" (2) and "db" (3); `shape` modifies it for the test.
class RequestWorld {
 public:
  template <class Shape>
  explicit RequestWorld(Shape shape) : log_(store_), requests_(log_, [this] { return request_id(++drawn_ << 32, 9); }) {
    auto job = testing::make_job({.groups = {{.name = "web", .count = 2}, {.name = "db", .count = 3}}});
    job->create_index = job->modify_index = job->job_modify_index = 90, job->stable = true;
    for (model::TaskGroup& group : job->task_groups) group.reschedule_policy.emplace().unlimited = group.name == "web";
    state_.index = 100;
    state_.nodes.emplace_back().id = request_id(1, 1);
    shape(*job, state_);
    state_.jobs.push_back(job), state_.job_versions.push_back(job);
    for (model::Allocation& alloc : state_.allocs) alloc.job = job;
    store_.load(state_);
    log_.load(state_);
    log_.set_summary("default", "j", {});
  }
  Requests& requests() { return requests_; }
  [[nodiscard]] StateLog& log() { return log_; }
  [[nodiscard]] const StateLog& log() const { return log_; }
  [[nodiscard]] const tables::StateStore& store() const { return store_; }

 private:
  model::ClusterState state_;
  tables::StateStore store_;
  StateLog log_;
  std::uint64_t drawn_ = 0;
  Requests requests_;
};

inline constexpr auto kAsItIs = [](model::Job&, model::ClusterState&) {};

}  // namespace berth::fsm
