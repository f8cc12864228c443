// One job, by default with one group, run through the cluster reconciler; the result is one line of text.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/job.h"
#include "reconcile/cluster.h"
#include "support/cluster_objects.h"

namespace berth::reconcile {

inline constexpr std::int64_t kWorldNow = 1'000'000 * base::kSecond;

/// One job `j` with the group `web`, and its allocations.
struct GroupWorld : UpdateJudge, IdSource {
  std::shared_ptr<model::Job> job;      ///< wanted
  std::shared_ptr<model::Job> old_job;  ///< version 1, of the allocations by default
  std::vector<model::Allocation> allocs;
  std::vector<NodeTaint> taints;
  std::optional<model::Deployment> deployment;
  bool is_batch = false;
  std::string eval_id = "eval";
  std::int64_t now = kWorldNow;
  model::Quirks quirks;
  std::uint64_t destructive_below = 0;  ///< allocations of an older version are updated destructively
  int evals = 0;
  ClusterResult result;

  GroupWorld(const char* type, std::int64_t count) {
    allocs.reserve(64);  // references that add() returns stay valid
    const std::vector<testing::GroupSpec> groups = {{.name = "web", .count = count}};
    job = testing::make_job({.type = type, .version = 2, .groups = groups});
    old_job = testing::make_job({.type = type, .version = 1, .groups = groups});
    is_batch = job->type == "batch";
  }
  /// Changes the group in both versions.
  template <class Change>
  void each_group(Change change) {
    change(job->task_groups[0]);
    change(old_job->task_groups[0]);
  }
  void reschedules(const char* function, std::int64_t delay_s, std::int64_t attempts = 0, std::int64_t interval_s = 0) {
    each_group([&](model::TaskGroup& group) {
      auto& policy = group.reschedule_policy.emplace();
      policy.delay_function = function;
      policy.delay = delay_s * base::kSecond;
      policy.attempts = attempts;
      policy.interval = interval_s * base::kSecond;
      policy.unlimited = attempts == 0;
    });
  }
  void updates(std::int64_t max_parallel, std::int64_t canary = 0) {
    auto& update = job->task_groups[0].update.emplace();
    update.max_parallel = max_parallel;
    update.canary = canary;
    destructive_below = 2;
  }
  model::Allocation& add(std::uint64_t index, const char* client = "running", NodeTaint taint = NodeTaint::none,
                         std::shared_ptr<model::Job> version = nullptr) {
    model::Allocation& alloc =
        allocs.emplace_back(testing::make_alloc({.id = "id-" + std::to_string(101 + allocs.size()),
                                                 .job = version ? version : job,
                                                 .index = index,
                                                 .client = client}));
    alloc.modify_time = now;
    taints.push_back(taint);
    return alloc;
  }
  void judge(std::span<const std::uint32_t> rows, std::span<UpdateKind> kinds) override {
    for (std::size_t i = 0; i < rows.size(); ++i)
      kinds[i] = facts[rows[i]].job_version < destructive_below ? UpdateKind::destructive : UpdateKind::ignore;
  }
  std::string next_eval_id() override { return "f" + std::to_string(evals++); }
  std::string next_deployment_id() override { return "d-new"; }

  /// Position of its group in `names`.
  [[nodiscard]] std::uint32_t group_of(const model::Allocation& alloc) const {
    return static_cast<std::uint32_t>(std::find(names.begin(), names.end(), alloc.task_group) - names.begin());
  }

  std::vector<AllocFacts> facts;
  std::vector<std::uint32_t> slots;
  std::vector<std::string> names = {"web"};  ///< of the groups of allocations; of three letters, for the texts
  ClusterInput input;

  /// Runs the reconciler and returns the changes as text, in the order of the lists.
  std::string run() {
    evals = 0;
    facts.clear();
    for (std::size_t i = 0; i < allocs.size(); ++i)
      facts.push_back(read_facts(allocs[i], group_of(allocs[i]), taints[i], deployment ? deployment->id : ""));
    slots = slots_of(facts);
    input = {.job = job.get(),
             .job_id = "j",
             .is_batch = is_batch,
             .deployment = deployment ? &*deployment : nullptr,
             .allocs = facts,
             .slots = slots,
             .group_names = names,
             .eval_id = eval_id,
             .eval_priority = 50,
             .now = now,
             .quirks = quirks};
    ClusterReconciler reconciler;
    result = reconciler.run(input, *this, *this);
    std::vector<std::string> out;
    const auto at = [&](std::uint32_t row) { return allocs[row].name.substr(5); };
    const auto followup = [&](std::int32_t f) {
      return f == kNoFollowup ? std::string() : " " + result.followups[static_cast<std::size_t>(f)].eval.id;
    };
    for (const auto& s : result.stop) {
      const std::string why = s.description == kNotNeeded     ? "unneeded"
                              : s.description == kReconnected ? "superfluous"
                              : s.description == kMigrating   ? "migrates"
                              : s.description == kLostNode    ? "lost"
                                                              : "failed";
      out.push_back("stop " + at(s.row) + " " + why + followup(s.followup));
    }
    for (const auto& p : result.place)
      out.push_back("place " + place_name(input, result, p).substr(5) + (p.canary ? " canary" : "") +
                    (p.reschedule ? " again" : "") + (p.lost ? " lost" : "") + (p.downgrade ? " downgrade" : "") +
                    (p.min_job_version ? " min " + std::to_string(p.min_job_version) : "") +
                    (p.previous != kNoRow ? " previous" : ""));
    for (const auto& d : result.destructive_update) out.push_back("destroy " + at(d.row));
    for (const auto& u : result.attribute_updates) out.push_back("annotate " + at(u.row) + followup(u.followup));
    for (const auto& u : result.disconnect_updates) out.push_back("disconnect " + at(u.row) + followup(u.followup));
    for (const auto& u : result.reconnect_updates) out.push_back("reconnect " + at(u.row));
    for (const auto& u : result.followups_in_alloc) out.push_back("mark " + at(u.row) + followup(u.followup));
    for (const auto& f : result.followups)
      out.push_back(f.eval.id + " " + f.eval.triggered_by + " +" + base::duration_text(f.eval.wait_until.ns - now) +
                    (f.eval.status_description.empty() ? " silent" : ""));
    if (result.deployment)
      for (const auto& [name, state] : result.deployment->task_groups)
        out.push_back("deploy total " + std::to_string(state->desired_total) + " canaries " +
                      std::to_string(state->desired_canaries) +
                      (result.deployment->status_description == "Deployment is running" ? "" : " promotion"));
    const model::DesiredUpdates& c = result.groups[0].updates;
    const auto counter = [&](const char* name, std::uint64_t n) {
      if (n != 0) out.push_back(std::string(name) + " " + std::to_string(n));
    };
    counter("Ignore", c.ignore), counter("Place", c.place), counter("Migrate", c.migrate), counter("Stop", c.stop);
    counter("InPlace", c.in_place_update), counter("Destructive", c.destructive_update), counter("Canary", c.canary);
    counter("Disconnect", c.disconnect), counter("Reconnect", c.reconnect);
    counter("RescheduleNow", c.reschedule_now), counter("RescheduleLater", c.reschedule_later);
    return base::join(out, "; ");
  }
};

}  // namespace berth::reconcile
