// Options of a Cluster's scheduling. All defaults decide as Nomad does.
//
//   berth::Config config;
//   config.mode = berth::Mode::exhaustive;
//   config.service_preemption = berth::Preemption::on;
//   config.workers = 4;
//   berth::Cluster cluster(config);
#pragma once

#include <cstdint>

namespace berth {

/// Visiting order of the candidate nodes. A service or batch placement examines only a few nodes, so the order decides
/// among which nodes the best is chosen.
enum class Order : std::uint8_t {
  nomad,     ///< Nomad's shuffle, seeded by the evaluation's ID and the latest index: repeats its decisions exactly
  mix,       ///< a full shuffle by a cheaper generator
  lazy,      ///< as `mix`, drawn while nodes are visited: fastest on large clusters
  identity,  ///< ascending node ID, for debugging
};

/// How a node's fit is scored.
enum class Algorithm : std::uint8_t {
  from_cluster,  ///< as in the cluster's scheduler configuration; binpack if not set there
  binpack,       ///< prefer full nodes
  spread,        ///< prefer empty nodes
};

/// Whether to repeat or correct Nomad's behaviour that looks like a defect. `berth run --list-options` lists the
/// cases.
enum class Compat : std::uint8_t {
  nomad,  ///< as Nomad decides
  fixed,  ///< without its known quirks
};

/// Which nodes a service or batch placement examines.
enum class Mode : std::uint8_t {
  sampled,     ///< a few, as Nomad does
  exhaustive,  ///< all: finds the best node, at a cost that grows with the cluster
};

/// Whether jobs of a type may evict allocations of jobs whose priority is at least 10 lower.
enum class Preemption : std::uint8_t {
  from_cluster,  ///< as in the cluster's scheduler configuration
  off,
  on,
};

struct Config {
  Order order = Order::nomad;
  Algorithm algorithm = Algorithm::from_cluster;  ///< a node pool's own configuration still takes precedence
  Compat compat = Compat::nomad;
  Mode mode = Mode::sampled;
  Preemption service_preemption = Preemption::from_cluster, batch_preemption = Preemption::from_cluster,
             system_preemption = Preemption::from_cluster, sysbatch_preemption = Preemption::from_cluster;
  /// Threads of schedule_all(), 1 to 1024; may exceed the number of cores.
  std::uint32_t workers = 1;
  /// Seed of the IDs of evaluations, allocations and deployments. Equal seeds and calls give equal IDs and decisions.
  std::uint64_t seed = 1;
};

}  // namespace berth
