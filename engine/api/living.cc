// Implements berth/living.h: a simulated cluster.
#include "berth/living.h"

#include "api/impl.h"
#include "base/later.h"
#include "io/export_import.h"
#include "io/json_parse.h"
#include "living/living.h"
#include "model/job.h"

namespace berth {

using tables::kNoRow;

struct LivingCluster::Impl {
  explicit Impl(living::Config config) : cluster(std::move(config)) {}
  living::Cluster cluster;
  InUse use;

  [[nodiscard]] Result<void, Error> happen(const living::Event& event) {
    const InUse::Turn turn(use);
    if (!turn) return tl::unexpected(use.error());
    fsm::Answer answer = cluster.apply(event);
    if (answer.error.empty()) return {};
    return tl::unexpected(Error{Errc::processing_failed, 0, std::move(answer.error)});
  }
  [[nodiscard]] Result<void, Error> on_node(std::string_view node_id, const living::Event& event) {
    const tables::NodeRow row = cluster.server().store().find_node(node_id);
    if (row == kNoRow || !cluster.state().nodes.exists(row))
      return tl::unexpected(Error{Errc::unknown_object, 0, "no node " + std::string(node_id)});
    return happen(event);
  }
  [[nodiscard]] Result<void, Error> on_deployment(const living::DeploymentOp& event) {
    const tables::DeploymentRow row = cluster.server().store().find_deployment(event.deployment_id);
    if (row == kNoRow) return tl::unexpected(Error{Errc::unknown_object, 0, "no deployment " + event.deployment_id});
    return happen(event);
  }
  [[nodiscard]] tables::JobKeyRow find_job(std::string_view job_namespace, std::string_view job_id) {
    const tables::JobKeyRow key = cluster.server().store().find_job_key(job_namespace, job_id);
    return key != kNoRow && cluster.state().jobs.keys[key].current != kNoRow ? key : kNoRow;
  }
  [[nodiscard]] Result<void, Error> on_job(std::string_view job_namespace, std::string_view job_id,
                                           const living::Event& event) {
    if (find_job(job_namespace, job_id) == kNoRow)
      return tl::unexpected(Error{Errc::unknown_object, 0, "no job " + std::string(job_id)});
    return happen(event);
  }
};

namespace {

living::Config config_of(const LifeConfig& config) {
  living::Config out;
  out.seed = config.seed;
  out.server.seed = config.seed;
  out.start_ns = config.start_ns;
  out.batch_run_ns = config.batch_run_ns;
  return out;
}

}  // namespace

LivingCluster::LivingCluster(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
LivingCluster::LivingCluster(LivingCluster&&) noexcept = default;
LivingCluster& LivingCluster::operator=(LivingCluster&&) noexcept = default;
LivingCluster::~LivingCluster() = default;

LivingCluster::LivingCluster(const LifeConfig& config) : impl_(std::make_shared<Impl>(config_of(config))) {
  impl_->cluster.load(empty_state());
}

Result<LivingCluster> LivingCluster::from_file(const std::string& path, const LifeConfig& config) {
  auto imported = io::import_cluster(path);
  if (!imported) return tl::unexpected(imported.error());
  auto impl = std::make_shared<Impl>(config_of(config));
  impl->cluster.load(imported->state);
  return LivingCluster(std::move(impl));
}

Result<LivingCluster> LivingCluster::from_workload(const std::string& name, const std::string& label,
                                                   std::uint64_t seed, const LifeConfig& config) {
  const auto state = workload_state(name, label, seed);
  if (!state) return tl::unexpected(state.error());
  auto impl = std::make_shared<Impl>(config_of(config));
  impl->cluster.load(*state);
  return LivingCluster(std::move(impl));
}

Result<LivingCluster> LivingCluster::from_json(std::string_view text, const LifeConfig& config) {
  auto value = io::parse_json(text);
  if (!value) return tl::unexpected(value.error());
  auto imported = io::import_cluster_json(*value, "-");
  if (!imported) return tl::unexpected(imported.error());
  auto impl = std::make_shared<Impl>(config_of(config));
  impl->cluster.load(imported->state);
  return LivingCluster(std::move(impl));
}

std::int64_t LivingCluster::now_ns() const { return impl_->cluster.now(); }
bool LivingCluster::advance(std::int64_t ns) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return false;
  impl_->cluster.run_until(base::later(impl_->cluster.now(), std::max<std::int64_t>(ns, 0)));
  return true;
}
bool LivingCluster::in_use() const { return impl_->use.held(); }
std::int64_t LivingCluster::next_due_ns() { return impl_->cluster.next_deadline(); }

Result<void> LivingCluster::add_node(std::string_view json) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.input_error());
  auto node = read_node(json);
  if (!node) return tl::unexpected(node.error());
  const fsm::Answer answer = impl_->cluster.apply(living::NodeRegister{std::move(*node)});
  if (!answer.error.empty()) return tl::unexpected(InputError{"-", "", answer.error, "correct the node"});
  return {};
}

Result<std::string> LivingCluster::register_job(const Job& job) {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.input_error());
  const tables::Snapshot& state = impl_->cluster.state();
  const tables::JobKeyRow key = impl_->find_job(job.job_namespace(), job.id());
  const model::Job* stored = key == kNoRow ? nullptr : state.jobs.versions[state.jobs.keys[key].current]->spec.get();
  auto registered = register_against(job.impl_->input, job.impl_->path, state, stored);
  if (!registered) return tl::unexpected(registered.error());
  living::JobRegister request;
  request.job = std::move(*registered);
  const fsm::Answer answer = impl_->cluster.apply(request);
  if (!answer.error.empty()) return tl::unexpected(InputError{job.impl_->path, "", answer.error, "correct the job"});
  return answer.eval_id;
}

Result<void, Error> LivingCluster::stop_job(std::string_view job_namespace, std::string_view job_id, bool purge) {
  living::JobDeregister request;
  request.name_space = job_namespace, request.job_id = job_id, request.purge = purge;
  return impl_->on_job(job_namespace, job_id, request);
}

Result<void, Error> LivingCluster::scale_job(std::string_view job_namespace, std::string_view job_id,
                                             std::string_view group, std::int64_t count) {
  living::JobScale request;
  request.name_space = job_namespace, request.job_id = job_id, request.group = group, request.count = count;
  return impl_->on_job(job_namespace, job_id, request);
}

Result<void, Error> LivingCluster::stop_alloc(std::string_view alloc_id) {
  const auto id = base::parse_uuid(alloc_id);
  if (!id || impl_->cluster.server().store().find_alloc(*id) == kNoRow)
    return tl::unexpected(Error{Errc::unknown_object, 0, "no allocation " + std::string(alloc_id)});
  return impl_->happen(living::AllocStop{std::string(alloc_id)});
}

Result<void, Error> LivingCluster::promote(std::string_view deployment_id, const std::vector<std::string>& groups) {
  return impl_->on_deployment({std::string(deployment_id), living::DeploymentOp::Kind::promote, groups, {}, {}});
}

Result<void, Error> LivingCluster::fail_deployment(std::string_view deployment_id) {
  return impl_->on_deployment({std::string(deployment_id), living::DeploymentOp::Kind::fail, {}, {}, {}});
}

Result<void, Error> LivingCluster::pause_deployment(std::string_view deployment_id, bool paused) {
  using Kind = living::DeploymentOp::Kind;
  return impl_->on_deployment({std::string(deployment_id), paused ? Kind::pause : Kind::resume, {}, {}, {}});
}

Result<void, Error> LivingCluster::set_health(std::string_view deployment_id, const std::vector<std::string>& healthy,
                                              const std::vector<std::string>& unhealthy) {
  return impl_->on_deployment(
      {std::string(deployment_id), living::DeploymentOp::Kind::set_health, {}, healthy, unhealthy});
}

Result<void, Error> LivingCluster::drain_node(std::string_view node_id, std::int64_t deadline_ns,
                                              bool ignore_system_jobs) {
  living::NodeDrain request;
  request.node_id = node_id, request.deadline = deadline_ns, request.ignore_system_jobs = ignore_system_jobs;
  return impl_->on_node(node_id, request);
}

Result<void, Error> LivingCluster::end_drain(std::string_view node_id, bool eligible) {
  living::NodeDrain request;
  request.node_id = node_id, request.clear = true, request.mark_eligible = eligible;
  return impl_->on_node(node_id, request);
}

Result<void, Error> LivingCluster::set_eligible(std::string_view node_id, bool eligible) {
  return impl_->on_node(node_id, living::NodeEligibility{std::string(node_id), eligible});
}

Result<void, Error> LivingCluster::set_reachable(std::string_view node_id, bool reachable) {
  if (reachable) return impl_->on_node(node_id, living::NodeReachable{std::string(node_id)});
  return impl_->on_node(node_id, living::NodeUnreachable{std::string(node_id)});
}

Result<void, Error> LivingCluster::remove_node(std::string_view node_id) {
  return impl_->on_node(node_id, living::NodeDeregister{{std::string(node_id)}, true});
}

View LivingCluster::view() const {
  auto impl = std::make_shared<View::Impl>();
  impl->owner = impl_;
  impl->state = impl_->cluster.server().store().snapshot();
  return View(std::move(impl));
}

LifeCounts LivingCluster::counts() const {
  const living::Cluster::Counts& counts = impl_->cluster.counts();
  return {counts.heartbeats, counts.reports};
}

std::uint64_t LivingCluster::digest() const { return impl_->cluster.digest(); }

}  // namespace berth
