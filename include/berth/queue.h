// Queue policies: in which order the evaluations that are ready at one time are decided. Most policies control that
// order and nothing else: a job that arrives alone is decided at once, whatever waits, and no capacity is reserved. One
// with reservations also decides when a job may start.
//
// A policy is a value with one pure function:
//
//   struct LargestPriorityLast {
//     double key(const berth::strategy::WaitingJob& job) const { return job.priority; }  // the least is first
//   };
//   berth::strategy::queue_registry().add("largest-priority-last", "ascending priority", LargestPriorityLast{});
//
// Jobs with equal keys are served in the order of their arrival. Selected by name and parameters at run time from
// queue_registry(), a user's policy like berth's own.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/catalogue.h"
#include "berth/result.h"
#include "berth/strategy.h"

namespace berth::strategy {

/// A job whose evaluation waits.
struct WaitingJob {
  std::uint64_t number = 0;       ///< in the order of arrival, from 0
  std::int64_t arrived_ns = 0;    ///< when it was registered
  std::int64_t run_time_ns = -1;  ///< of its allocations, as a simulation knows it; < 0: they never end
  std::int32_t priority = 0;
  std::int64_t deadline_ns = INT64_MAX;  ///< by which it should have ended (kDeadlineKey); INT64_MAX: none
};

/// Key of a job's meta: the time from its registration by which it should have ended, such as "90s" or "1h30m".
inline constexpr const char* kDeadlineKey = "berth_deadline";

/// Weights by namespace; namespaces that are not named weigh 1.
using NamespaceWeights = std::map<std::string, double>;

/// Rules of quotas, which are shares of the cluster by namespace.
struct Quotas {
  double borrow = 1;    ///< share of the cluster that a namespace may hold above its quota while no other needs it
  bool reclaim = true;  ///< a job within its namespace's quota may evict jobs of namespaces above theirs
};

template <class P>
concept QueuePolicyLike = requires(const P& policy, const WaitingJob& job) {
  { policy.key(job) } -> std::same_as<double>;
};

/// A policy in use.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  /// The least is served first; a NaN counts as the greatest. Called once whenever an evaluation becomes ready, so it
  /// must order the jobs that wait in the same way at any later time.
  [[nodiscard]] virtual double key(const WaitingJob& job) const = 0;
  /// Not null: the namespace with the least dominant share, divided by its weight, is served first, and the key orders
  /// its jobs. The dominant share is the largest of the namespace's shares of the cluster's cpu, memory, disk and
  /// devices (Ghodsi et al., Dominant Resource Fairness, NSDI 2011).
  [[nodiscard]] virtual const NamespaceWeights* shares() const { return nullptr; }
  /// With shares: half-life of past use in seconds. 0: only current use counts. Otherwise a namespace is judged by the
  /// exponentially weighted mean of its past use.
  [[nodiscard]] virtual double half_life_s() const { return 0; }
  /// Not null: a job waits until all its allocations fit, and starts only if that delays no reservation. The first
  /// `reservations` jobs in the order of the key that cannot start yet have one (Lifka, The ANL/IBM SP Scheduling
  /// System, JSSPP 1995). A reservation is the earliest time at which the engine could place all of a job's
  /// allocations. It assumes that running allocations end at their predicted times and that earlier reservations start
  /// on time.
  [[nodiscard]] virtual std::optional<std::uint32_t> reservations() const { return std::nullopt; }
  /// Not null: shares() are hard limits. A namespace's quota is its share of the cluster's cpu, memory, disk and
  /// devices; a namespace that shares() does not name has quota 0. A job waits until all its allocations fit and its
  /// namespace's quota allows them. key() orders the jobs within a namespace.
  [[nodiscard]] virtual const Quotas* quotas() const { return nullptr; }
  /// With reservations: the predicted run time of the job's allocations; < 0: they never end.
  [[nodiscard]] virtual std::int64_t predicted_ns(const WaitingJob& job) const { return job.run_time_ns; }
};

template <QueuePolicyLike P>
class QueuePolicyOf final : public QueuePolicy {
 public:
  explicit QueuePolicyOf(P policy) : policy_(std::move(policy)) {}
  [[nodiscard]] double key(const WaitingJob& job) const override { return policy_.key(job); }
  [[nodiscard]] const NamespaceWeights* shares() const override {
    if constexpr (requires { policy_.weights; })
      return &policy_.weights;
    else
      return nullptr;
  }
  [[nodiscard]] double half_life_s() const override {
    if constexpr (requires { policy_.half_life_s; })
      return policy_.half_life_s;
    else
      return 0;
  }
  [[nodiscard]] std::optional<std::uint32_t> reservations() const override {
    if constexpr (requires { policy_.reservations; })
      return policy_.reservations;
    else
      return std::nullopt;
  }
  [[nodiscard]] const Quotas* quotas() const override {
    if constexpr (requires { policy_.quotas; })
      return &policy_.quotas;
    else
      return nullptr;
  }
  [[nodiscard]] std::int64_t predicted_ns(const WaitingJob& job) const override {
    if constexpr (requires { policy_.predicted_ns(job); })
      return policy_.predicted_ns(job);
    else
      return job.run_time_ns;
  }

 private:
  P policy_;
};

/// Arguments of a policy, checked, and the seed of its draws.
struct QueueSettings {
  Parameters parameters;
  NamespaceWeights weights;
  std::uint64_t seed = 1;
};

struct QueueInfo {
  std::string name;
  std::string formula, source, cost;  ///< cost per evaluation, with n waiting
  std::vector<ParameterInfo> parameters{};
  bool by_namespace = false;  ///< takes names of namespaces with weights above 0 as parameters
  double weight_max = 1e9;    ///< 1: the weights are shares of the cluster
  /// Null: Nomad's own order, which needs no policy.
  std::function<std::unique_ptr<QueuePolicy>(const QueueSettings&)> make;
};

class QueueRegistry : public Catalogue<QueueInfo> {
 public:
  using Catalogue::add;
  /// Adds a policy without parameters, e.g. a user's own.
  template <QueuePolicyLike P>
  void add(std::string name, std::string formula, P policy) {
    add(QueueInfo{.name = std::move(name),
                  .formula = std::move(formula),
                  .source = "user",
                  .cost = "the user's, and log n",
                  .make = [policy](const QueueSettings&) { return std::make_unique<QueuePolicyOf<P>>(policy); }});
  }

  /// Reads "name:key=value" and checks it. Errors name the nearest known name and list the valid ones.
  [[nodiscard]] Result<StrategySpec> parse(std::string_view text) const;
  /// Null: Nomad's own order. `seed`: of the policy's draws.
  [[nodiscard]] Result<std::unique_ptr<QueuePolicy>> make(const StrategySpec& spec, std::uint64_t seed) const;
};

/// The policies of this program: berth's own and added ones. Not for concurrent changes.
[[nodiscard]] QueueRegistry& queue_registry();

}  // namespace berth::strategy
