#include "run/server_settings.h"

namespace berth::run {
namespace {

rank::OrderProvider provider_of(sim::Order order) {
  switch (order) {
    case sim::Order::nomad:
      return rank::OrderProvider::nomad;
    case sim::Order::mix:
      return rank::OrderProvider::mix;
    case sim::Order::lazy:
      return rank::OrderProvider::lazy;
    case sim::Order::identity:
      return rank::OrderProvider::identity;
  }
  return rank::OrderProvider::nomad;
}

}  // namespace

server::Config server_settings(const sim::Workload& workload) {
  server::Config config;
  config.options = workload.options;
  config.order = provider_of(workload.order);
  config.exhaustive = workload.mode == sim::Mode::exhaustive;
  config.defer_metrics = true;  // metrics of placements are not read
  config.seed = workload.seed;
  config.sources = workload.sources;
  return config;
}

model::SchedulerConfiguration configuration_of(const sim::Workload& workload, model::SchedulerConfiguration config) {
  config.scheduler_algorithm = sim::to_text(workload.algorithm);
  config.preemption_config.system_scheduler_enabled = workload.preemption.system;
  config.preemption_config.sysbatch_scheduler_enabled = workload.preemption.sysbatch;
  config.preemption_config.batch_scheduler_enabled = workload.preemption.batch;
  config.preemption_config.service_scheduler_enabled = workload.preemption.service;
  return config;
}

}  // namespace berth::run
