// Berth's built-in queue policies, and their registry. The contract is in berth/queue.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "berth/queue.h"
#include "strategy/parsing.h"
#include "strategy/prediction.h"

namespace berth::strategy {
namespace {

constexpr double kNsPerMinute = 6e10;

struct Fifo {
  [[nodiscard]] double key(const WaitingJob&) const { return 0; }  // equal keys: the order of arrival
};

struct Shortest {
  Prediction prediction;
  [[nodiscard]] double key(const WaitingJob& job) const {
    return job.run_time_ns < 0 ? std::numeric_limits<double>::infinity() : prediction.of(job.run_time_ns, job.number);
  }
};

struct Backfill {
  std::uint32_t reservations;
  Prediction prediction;
  [[nodiscard]] double key(const WaitingJob&) const { return 0; }  // the order of arrival
  [[nodiscard]] std::int64_t predicted_ns(const WaitingJob& job) const {
    return job.run_time_ns < 0 ? -1 : prediction.whole(job.run_time_ns, job.number);
  }
};

/// Priority in points plus points for the time waited. All jobs gain points at the same rate, so their order does not
/// change while they wait, and the points at time 0 decide it.
struct Ageing {
  double per_minute;
  [[nodiscard]] double key(const WaitingJob& job) const {
    return per_minute * (static_cast<double>(job.arrived_ns) / kNsPerMinute) - job.priority;
  }
};

/// Earliest deadline first.
struct Deadline {
  [[nodiscard]] double key(const WaitingJob& job) const { return static_cast<double>(job.deadline_ns); }
};

struct FairShare {
  NamespaceWeights weights;
  double half_life_s = 0;
  [[nodiscard]] double key(const WaitingJob& job) const { return -job.priority; }
};

struct QuotaPolicy {
  NamespaceWeights weights;
  Quotas quotas;
  [[nodiscard]] double key(const WaitingJob& job) const { return -job.priority; }
};

template <class P>
std::unique_ptr<QueuePolicy> policy_of(P policy) {
  return std::make_unique<QueuePolicyOf<P>>(std::move(policy));
}

Prediction prediction_of(const QueueSettings& with) { return {with.parameters.number("error"), with.seed}; }

std::optional<std::uint32_t> count_of(const std::string& text) {
  const auto count = base::parse_uint64(text);
  return count && *count <= 1'000'000'000 ? std::optional(static_cast<std::uint32_t>(*count)) : std::nullopt;
}

void add_built_in(QueueRegistry& into) {
  into.add({.name = "priority",
            .formula = "highest priority first, then the oldest evaluation",
            .source = "Nomad's eval broker",
            .cost = "log n"});
  into.add({.name = "fifo",
            .formula = "in the order of arrival, regardless of priority",
            .source = "first come, first served",
            .cost = "log n",
            .make = [](const QueueSettings&) { return policy_of(Fifo{}); }});
  into.add({.name = "shortest",
            .formula = "shortest run time first; jobs that never end come last",
            .source = "shortest job first; predictions err by a factor e^(error z) with z normal, seeded by job",
            .cost = "log n",
            .parameters = {error_parameter()},
            .make = [](const QueueSettings& with) { return policy_of(Shortest{prediction_of(with)}); }});
  into.add(
      {.name = "fair-share",
       .formula = "the namespace with the least dominant share / weight first; in it by priority",
       .source = "Ghodsi et al., Dominant Resource Fairness, NSDI 2011",
       .cost = "log n, and log namespaces per allocation that starts or ends; with half_life also namespaces per time",
       .parameters = {{.name = "half_life",
                       .fallback = "0",
                       .meaning = "seconds after which use counts by half; 0: only what is in use counts"}},
       .by_namespace = true,
       .make = [](const QueueSettings& with) {
         return policy_of(FairShare{with.weights, with.parameters.number("half_life")});
       }});
  into.add({.name = "ageing",
            .formula = "highest priority + per_minute x minutes since the arrival first",
            .source = "ageing against starvation; per_minute=0: strict priority",
            .cost = "log n",
            .parameters = {{.name = "per_minute",
                            .fallback = "1",
                            .meaning = "points of priority that a waiting job gains per minute"}},
            .make = [](const QueueSettings& with) { return policy_of(Ageing{with.parameters.number("per_minute")}); }});
  into.add({.name = "deadline",
            .formula = "earliest deadline first; jobs without one come last",
            .source = "Liu and Layland 1973; meta.berth_deadline: time from the registration, such as 90s",
            .cost = "log n",
            .make = [](const QueueSettings&) { return policy_of(Deadline{}); }});
  into.add({.name = "backfill",
            .formula = "in the order of arrival; others start earlier where that delays no reservation",
            .source = "Lifka 1995 (EASY: reservations=1); Mu'alem and Feitelson 2001 (conservative: reservations=1e6)",
            .cost = "per change of what runs: a trial per waiting job, and per reservation one per end before it",
            .parameters = {{.name = "reservations",
                            .fallback = "1",
                            .meaning =
                                "a whole number of jobs, first in the order, that cannot be delayed, up to 1000000000",
                            .reads = [](const std::string& text) { return count_of(text).has_value(); }},
                           error_parameter()},
            .make = [](const QueueSettings& with) {
              return policy_of(Backfill{*count_of(with.parameters.word("reservations")), prediction_of(with)});
            }});
  into.add({.name = "quota",
            .formula =
                "jobs within the quota of their namespace, then others on what is idle; the least share of quota first",
            .source = "quotas with borrowing and reclaim, as in Kueue and the capacity scheduler of Hadoop",
            .cost = "per change of what runs: a trial per waiting job, and per job without room one per job to evict",
            .parameters = {{.name = "borrow",
                            .fallback = "1",
                            .meaning = "share of the cluster that a namespace may hold above its quota",
                            .max = 1},
                           {.name = "reclaim",
                            .fallback = "yes",
                            .meaning = "evict jobs of namespaces above their quota for jobs within theirs",
                            .choices = {"yes", "no"}}},
            .by_namespace = true,
            .weight_max = 1,
            .make = [](const QueueSettings& with) {
              return policy_of(QuotaPolicy{
                  with.weights, {with.parameters.number("borrow"), with.parameters.word("reclaim") == "yes"}});
            }});
}

/// Checks all arguments.
Result<QueueSettings> settings_of(const QueueRegistry& registry, const StrategySpec& spec, std::uint64_t seed) {
  const Names names = names_of("queue policy", registry);
  const QueueInfo* const info = registry.find(spec.name);
  if (!info) return tl::unexpected(unknown_name(names, spec.text(), spec.name));
  StrategySpec own{spec.name, {}};
  NamespaceWeights weights;
  for (const auto& [key, value] : spec.arguments) {
    const bool known =
        std::any_of(info->parameters.begin(), info->parameters.end(), [&](const auto& p) { return p.name == key; });
    if (known || !info->by_namespace) {
      own.arguments.emplace_back(key, value);
      continue;
    }
    const auto bad = [&](std::string problem, std::string remedy) {
      return tl::unexpected(InputError{fmt::format("queue policy '{}'", base::shown(spec.text().substr(0, 60))), "",
                                       std::move(problem), std::move(remedy)});
    };
    const auto weight = base::parse_double(value);
    if (info->weight_max == 1 && (!weight || !(*weight > 0 && *weight <= 1)))
      return bad(fmt::format("'{}' is no quota of namespace '{}'", base::shown(value.substr(0, 40)),
                             base::shown(key.substr(0, 40))),
                 "write a share of the cluster above 0, at most 1, e.g. quota:prod=0.5:dev=0.2");
    if (!weight || !(*weight > 0 && *weight <= info->weight_max))
      return bad(fmt::format("'{}' is no weight of namespace '{}'", base::shown(value.substr(0, 40)),
                             base::shown(key.substr(0, 40))),
                 "write a number above 0, at most 1e9, e.g. fair-share:prod=3:dev=1");
    if (!weights.emplace(key, *weight).second)
      return bad(fmt::format("namespace '{}' is weighed twice", base::shown(key.substr(0, 40))), "remove one");
  }
  auto parameters = check_parameters(names, own, info->parameters, false);
  if (!parameters) return tl::unexpected(parameters.error());
  return QueueSettings{std::move(*parameters), std::move(weights), seed};
}

}  // namespace

Result<StrategySpec> QueueRegistry::parse(std::string_view text) const {
  auto spec = split_spec(names_of("queue policy", *this), text);
  if (!spec) return spec;
  if (auto checked = settings_of(*this, *spec, 1); !checked) return tl::unexpected(checked.error());
  return spec;
}

Result<std::unique_ptr<QueuePolicy>> QueueRegistry::make(const StrategySpec& spec, std::uint64_t seed) const {
  const auto settings = settings_of(*this, spec, seed);
  if (!settings) return tl::unexpected(settings.error());
  const QueueInfo& info = *find(spec.name);
  return info.make ? info.make(*settings) : nullptr;
}

QueueRegistry& queue_registry() {
  static QueueRegistry the = [] {
    QueueRegistry made;
    add_built_in(made);
    return made;
  }();
  return the;
}

}  // namespace berth::strategy
