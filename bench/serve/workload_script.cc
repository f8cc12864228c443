#include "serve/workload_script.h"

#include <map>
#include <unordered_map>

#include "model/job.h"
#include "run/life_player.h"
#include "sim/life_plan.h"

namespace berth::serve {

namespace {

/// Behaviour of tasks: as in the workload, else by their drivers.
template <class OfWorkload>
class TaskSource {
 public:
  explicit TaskSource(const OfWorkload& of) : of_(of) {}
  client::DriverDefaults drivers;

  [[nodiscard]] client::TaskModel model() const {
    client::TaskModel out;
    out.context = this;
    out.outcome = [](const void* self, const client::TaskStart& start) {
      const auto& source = *static_cast<const TaskSource*>(self);
      if (const auto outcome = source.of_.outcome(start)) return *outcome;
      return client::driver_outcome(*start.spec, start, source.drivers);
    };
    return out;
  }

 private:
  const OfWorkload& of_;
};

class LifeScript final : public WorkloadScript {
 public:
  LifeScript(sim::Workload workload, sim::Inputs inputs, sim::LifePlan plan, std::function<void(model::Node&)> complete)
      : workload_(std::move(workload)),
        inputs_(std::move(inputs)),
        plan_(std::move(plan)),
        player_(workload_, inputs_, plan_) {
    player_.complete = std::move(complete);
  }
  void begin(std::int64_t start_ns, const client::DriverDefaults& drivers) override {
    start_ns_ = start_ns, tasks_.drivers = drivers;
  }
  client::TaskModel model() const override { return tasks_.model(); }
  std::optional<client::Outcome> outcome(const client::TaskStart& start) const {
    if (!player_.has_job(*start.spec)) return std::nullopt;
    const client::TaskModel model = player_.model();
    return model.outcome(model.context, start);
  }

  void bind(living::Cluster& cluster) override { player_.bind(cluster, nullptr); }
  std::int64_t next() const override {
    const std::int64_t at = player_.next_ns();
    return at == client::kNever ? at : start_ns_ + at;
  }
  void play() override { player_.play(player_.next_ns()); }

 private:
  const sim::Workload workload_;
  const sim::Inputs inputs_;
  const sim::LifePlan plan_;
  run::LifePlayer player_;
  std::int64_t start_ns_ = 0;
  TaskSource<LifeScript> tasks_{*this};
};

/// Plays the arrivals of jobs, and stops those that do not end by themselves after their run time.
class ArrivalScript final : public WorkloadScript {
 public:
  explicit ArrivalScript(sim::Inputs inputs) : inputs_(std::move(inputs)) {
    for (const sim::JobArrival& arrival : inputs_.jobs.arrivals) by_id_[inputs_.jobs.job(arrival)->id] = &arrival;
  }
  void begin(std::int64_t start_ns, const client::DriverDefaults& drivers) override {
    start_ns_ = start_ns, tasks_.drivers = drivers;
  }
  client::TaskModel model() const override { return tasks_.model(); }
  /// Batch tasks have the workload's run time.
  std::optional<client::Outcome> outcome(const client::TaskStart& start) const {
    const auto found = by_id_.find(start.spec->id);
    const bool ends = start.type == client::JobType::batch || start.type == client::JobType::sysbatch;
    if (found == by_id_.end() || !ends || found->second->run_time_ns == sim::kNeverEnds) return std::nullopt;
    client::Outcome out;
    out.run_ns = found->second->run_time_ns;
    out.exit_code = found->second->fails ? 1 : 0;
    return out;
  }

  void bind(living::Cluster& cluster) override { cluster_ = &cluster; }
  std::int64_t next() const override {
    std::int64_t at = client::kNever;
    if (arrival_ < inputs_.jobs.arrivals.size()) at = inputs_.jobs.arrivals[arrival_].due_ns;
    if (!stops_.empty()) at = std::min(at, stops_.begin()->first);
    return at == client::kNever ? at : start_ns_ + at;
  }
  void play() override {
    if (!stops_.empty() && start_ns_ + stops_.begin()->first == next()) {
      cluster_->apply(living::JobDeregister{.name_space = "default", .job_id = stops_.begin()->second});
      stops_.erase(stops_.begin());
      return;
    }
    const sim::JobArrival& arrival = inputs_.jobs.arrivals[arrival_++];
    const auto job = inputs_.jobs.job(arrival);
    cluster_->apply(living::JobRegister{.job = job});
    const bool ends = job->type == "batch" || job->type == "sysbatch";
    if (ends || arrival.run_time_ns == sim::kNeverEnds || by_id_.at(job->id) != &arrival) return;
    if (arrival.run_time_ns < client::kNever - arrival.due_ns)
      stops_.emplace(arrival.due_ns + arrival.run_time_ns, job->id);
  }

 private:
  const sim::Inputs inputs_;
  std::unordered_map<std::string, const sim::JobArrival*> by_id_;  // the newest of each job
  std::multimap<std::int64_t, std::string> stops_;                 // times to stop jobs that never end by themselves
  std::size_t arrival_ = 0;
  living::Cluster* cluster_ = nullptr;
  std::int64_t start_ns_ = 0;
  TaskSource<ArrivalScript> tasks_{*this};
};

}  // namespace

Result<std::shared_ptr<WorkloadScript>> make_workload_script(sim::Workload workload, sim::Inputs inputs,
                                                             std::function<void(model::Node&)> complete) {
  if (!workload.life) return std::make_shared<ArrivalScript>(std::move(inputs));
  auto plan = sim::plan_life(workload, inputs.cluster, inputs.jobs);
  if (!plan) return tl::unexpected(plan.error());
  return std::make_shared<LifeScript>(std::move(workload), std::move(inputs), std::move(*plan), std::move(complete));
}

}  // namespace berth::serve
