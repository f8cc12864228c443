// The C interface (berth/berth.h) over Cluster, Plan, View and LivingCluster. Handles hold values of these types; this
// file contains no scheduling logic.
#include "berth/berth.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "api/in_use.h"
#include "berth/cluster.h"
#include "berth/living.h"

struct berth_error {
  berth_code code = BERTH_OK;
  std::string text;
};
struct berth_cluster {
  berth::Cluster value;
};
struct berth_plan {
  berth::Plan value;
};
struct berth_view {
  berth::View value;
  std::optional<berth::NodeColumns> nodes;  // made at first use
  std::optional<berth::AllocColumns> allocs;
};
struct berth_life {
  berth::LivingCluster value;
};

namespace {

berth_code fail(berth_error** error, berth_code code, std::string text) {
  if (error) *error = new berth_error{code, std::move(text)};
  return code;
}
berth_code fail(berth_error** error, const berth::InputError& from) {
  return berth::InUse::caused(from.problem) ? fail(error, BERTH_IN_USE, from.problem)
                                            : fail(error, BERTH_INPUT, from.line());
}
berth_code fail(berth_error** error, const berth::Error& from) {
  if (berth::InUse::caused(from.text)) return fail(error, BERTH_IN_USE, from.text);
  switch (from.code) {
    case berth::Errc::unknown_object:
      return fail(error, BERTH_UNKNOWN_OBJECT, from.text);
    case berth::Errc::already_used:
      return fail(error, BERTH_ALREADY_USED, from.text);
    default:
      return fail(error, BERTH_PROCESSING_FAILED, from.text);
  }
}
berth_code missing(berth_error** error, const char* argument) {
  return fail(error, BERTH_BAD_ARGUMENT, std::string(argument) + " is null; pass a value");
}
template <class T>
berth_code answer(const T& result, berth_error** error) {
  return result ? BERTH_OK : fail(error, result.error());
}

char* copy(const std::string& text) {
  char* const out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out) std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

/// False if the struct's size is unknown to this library, or a number has no meaning.
bool read(const berth_config* from, berth::Config& out) {
  if (!from) return true;
  if (from->size != sizeof(berth_config) || from->order < 0 || from->order > 3 || from->algorithm < 0 ||
      from->algorithm > 2)
    return false;
  out.seed = from->seed == 0 ? 1 : from->seed;
  out.order = static_cast<berth::Order>(from->order);
  out.algorithm = static_cast<berth::Algorithm>(from->algorithm);
  if (from->fixed != 0) out.compat = berth::Compat::fixed;
  return true;
}
constexpr const char* kBadConfig = "config: unknown size, order or algorithm; set size to sizeof(berth_config)";

/// Turns a `berth::Result<Value>` into a handle and an error code.
template <class Handle, class Value>
berth_code hand_out(Value&& result, Handle** out, berth_error** error) {
  if (!result) return fail(error, result.error());
  *out = new Handle{std::move(*result)};
  return BERTH_OK;
}

}  // namespace

extern "C" {

const char* berth_version(void) { return BERTH_VERSION; }
berth_code berth_error_code(const berth_error* error) { return error ? error->code : BERTH_OK; }
const char* berth_error_text(const berth_error* error) { return error ? error->text.c_str() : ""; }
void berth_error_free(berth_error* error) { delete error; }
void berth_string_free(char* text) { std::free(text); }

berth_code berth_cluster_new(const berth_config* config, berth_cluster** out, berth_error** error) {
  berth::Config options;
  if (!out) return missing(error, "out");
  if (!read(config, options)) return fail(error, BERTH_BAD_ARGUMENT, kBadConfig);
  *out = new berth_cluster{berth::Cluster(options)};
  return BERTH_OK;
}

berth_code berth_cluster_from_file(const char* path, const berth_config* config, berth_cluster** out,
                                   berth_error** error) {
  berth::Config options;
  if (!path || !out) return missing(error, path ? "out" : "path");
  if (!read(config, options)) return fail(error, BERTH_BAD_ARGUMENT, kBadConfig);
  return hand_out(berth::Cluster::from_file(path, options), out, error);
}

berth_code berth_cluster_from_json(const char* json, const berth_config* config, berth_cluster** out,
                                   berth_error** error) {
  berth::Config options;
  if (!json || !out) return missing(error, json ? "out" : "json");
  if (!read(config, options)) return fail(error, BERTH_BAD_ARGUMENT, kBadConfig);
  return hand_out(berth::Cluster::from_json(json, options), out, error);
}

void berth_cluster_free(berth_cluster* cluster) { delete cluster; }

berth_code berth_cluster_add_node(berth_cluster* cluster, const char* json, berth_error** error) {
  if (!cluster || !json) return missing(error, cluster ? "json" : "cluster");
  return answer(cluster->value.add_node(json), error);
}

berth_code berth_cluster_set_node(berth_cluster* cluster, const char* node_id, const char* status, int eligible,
                                  int draining, berth_error** error) {
  if (!cluster || !node_id || !status) return missing(error, !cluster ? "cluster" : node_id ? "status" : "node_id");
  return answer(cluster->value.set_node(node_id, status, eligible != 0, draining != 0), error);
}

berth_code berth_cluster_score_by(berth_cluster* cluster, const char* strategy, berth_error** error) {
  if (!cluster || !strategy) return missing(error, cluster ? "strategy" : "cluster");
  return answer(cluster->value.score_by(strategy), error);
}

berth_code berth_cluster_register_job(berth_cluster* cluster, const char* json, char** job_id, berth_error** error) {
  if (!cluster || !json) return missing(error, cluster ? "json" : "cluster");
  const auto job = berth::Job::from_text(json);
  if (!job) return fail(error, job.error());
  if (const auto done = cluster->value.register_job(*job); !done) return fail(error, done.error());
  if (job_id) *job_id = copy(job->id());
  return BERTH_OK;
}

berth_code berth_cluster_remove_job(berth_cluster* cluster, const char* job_namespace, const char* job_id,
                                    berth_error** error) {
  if (!cluster || !job_namespace || !job_id)
    return missing(error, !cluster ? "cluster" : job_namespace ? "job_id" : "job_namespace");
  return answer(cluster->value.remove_job(job_namespace, job_id), error);
}

berth_code berth_cluster_set_alloc_status(berth_cluster* cluster, const char* alloc_id, const char* status,
                                          berth_error** error) {
  if (!cluster || !alloc_id || !status) return missing(error, !cluster ? "cluster" : alloc_id ? "status" : "alloc_id");
  return answer(cluster->value.set_alloc_status(alloc_id, status), error);
}

berth_code berth_cluster_schedule(berth_cluster* cluster, const char* job_namespace, const char* job_id, int64_t now_ns,
                                  berth_plan** out, berth_error** error) {
  if (!cluster || !job_namespace || !job_id || !out)
    return missing(error, !cluster ? "cluster" : !job_namespace ? "job_namespace" : job_id ? "out" : "job_id");
  return hand_out(cluster->value.schedule(job_namespace, job_id, now_ns), out, error);
}

size_t berth_plan_placements(const berth_plan* plan) { return plan ? plan->value.placements.size() : 0; }

berth_placement berth_plan_placement(const berth_plan* plan, size_t index) {
  if (!plan || index >= plan->value.placements.size()) return berth_placement{};
  const berth::Placement& from = plan->value.placements[index];
  return {from.alloc_id.c_str(), from.name.c_str(),      from.task_group.c_str(),
          from.node_id.c_str(),  from.node_name.c_str(), from.score};
}

size_t berth_plan_failed(const berth_plan* plan) {
  std::int64_t count = 0;
  if (plan)
    for (const berth::Failure& failure : plan->value.failures) count += failure.count;
  return static_cast<size_t>(count);
}

size_t berth_plan_stops(const berth_plan* plan) { return plan ? plan->value.stops.size() : 0; }
char* berth_plan_explain(const berth_plan* plan) { return plan ? copy(plan->value.explain()) : nullptr; }
void berth_plan_free(berth_plan* plan) { delete plan; }

berth_code berth_cluster_commit(berth_cluster* cluster, const berth_plan* plan, berth_commit_result* out,
                                berth_error** error) {
  if (!cluster || !plan) return missing(error, cluster ? "plan" : "cluster");
  const auto result = cluster->value.commit(plan->value);
  if (!result) return fail(error, result.error());
  if (out) *out = {result->index, result->committed, result->refused};
  return BERTH_OK;
}

berth_code berth_cluster_view(const berth_cluster* cluster, berth_view** out, berth_error** error) {
  if (!cluster || !out) return missing(error, cluster ? "out" : "cluster");
  *out = new berth_view{cluster->value.view(), {}, {}};
  return BERTH_OK;
}

void berth_view_free(berth_view* view) { delete view; }
uint64_t berth_view_index(const berth_view* view) { return view ? view->value.index() : 0; }
char* berth_view_to_json(const berth_view* view) { return view ? copy(view->value.to_json()) : nullptr; }

berth_code berth_view_nodes(berth_view* view, berth_nodes* out, berth_error** error) {
  if (!view || !out) return missing(error, view ? "out" : "view");
  if (out->size != sizeof *out) return fail(error, BERTH_BAD_ARGUMENT, "out: set size to sizeof(berth_nodes)");
  if (!view->nodes) view->nodes = view->value.node_columns();
  const berth::NodeColumns& n = *view->nodes;
  *out = {sizeof *out,
          n.id.size(),
          n.id.empty() ? nullptr : n.id.front().data(),
          n.status.data(),
          n.eligible.data(),
          n.draining.data(),
          n.allocs.data(),
          n.cpu_usable_mhz.data(),
          n.cpu_used_mhz.data(),
          n.memory_usable_mb.data(),
          n.memory_used_mb.data(),
          n.disk_usable_mb.data(),
          n.disk_used_mb.data()};
  return BERTH_OK;
}

berth_code berth_view_allocs(berth_view* view, berth_allocs* out, berth_error** error) {
  if (!view || !out) return missing(error, view ? "out" : "view");
  if (out->size != sizeof *out) return fail(error, BERTH_BAD_ARGUMENT, "out: set size to sizeof(berth_allocs)");
  if (!view->allocs) view->allocs = view->value.alloc_columns();
  const berth::AllocColumns& a = *view->allocs;
  *out = {sizeof *out,          a.id.size(),      a.id.empty() ? nullptr : a.id.front().data(),
          a.node.data(),        a.job.data(),     a.desired.data(),
          a.client.data(),      a.cpu_mhz.data(), a.memory_mb.data(),
          a.disk_mb.data(),     a.score.data(),   a.create_index.data(),
          a.modify_index.data()};
  return BERTH_OK;
}

berth_code berth_life_new(uint64_t seed, berth_life** out, berth_error** error) {
  if (!out) return missing(error, "out");
  berth::LifeConfig config;
  config.seed = seed;
  *out = new berth_life{berth::LivingCluster(config)};
  return BERTH_OK;
}

berth_code berth_life_from_file(const char* path, uint64_t seed, berth_life** out, berth_error** error) {
  if (!path || !out) return missing(error, path ? "out" : "path");
  berth::LifeConfig config;
  config.seed = seed;
  return hand_out(berth::LivingCluster::from_file(path, config), out, error);
}

void berth_life_free(berth_life* life) { delete life; }
int64_t berth_life_now_ns(const berth_life* life) { return life ? life->value.now_ns() : 0; }

berth_code berth_life_advance(berth_life* life, int64_t ns, berth_error** error) {
  if (!life) return missing(error, "life");
  if (ns < 0) return fail(error, BERTH_BAD_ARGUMENT, "ns is negative; time only goes forward");
  if (!life->value.advance(ns)) return fail(error, BERTH_PROCESSING_FAILED, "another thread is using this cluster");
  return BERTH_OK;
}

berth_code berth_life_add_node(berth_life* life, const char* json, berth_error** error) {
  if (!life || !json) return missing(error, life ? "json" : "life");
  return answer(life->value.add_node(json), error);
}

berth_code berth_life_register_job(berth_life* life, const char* json, berth_error** error) {
  if (!life || !json) return missing(error, life ? "json" : "life");
  const auto job = berth::Job::from_text(json);
  if (!job) return fail(error, job.error());
  return answer(life->value.register_job(*job), error);
}

berth_code berth_life_stop_job(berth_life* life, const char* job_namespace, const char* job_id, int purge,
                               berth_error** error) {
  if (!life || !job_namespace || !job_id)
    return missing(error, !life ? "life" : job_namespace ? "job_id" : "job_namespace");
  return answer(life->value.stop_job(job_namespace, job_id, purge != 0), error);
}

berth_code berth_life_drain_node(berth_life* life, const char* node_id, int64_t deadline_ns, berth_error** error) {
  if (!life || !node_id) return missing(error, life ? "node_id" : "life");
  return answer(life->value.drain_node(node_id, deadline_ns), error);
}

berth_code berth_life_set_reachable(berth_life* life, const char* node_id, int reachable, berth_error** error) {
  if (!life || !node_id) return missing(error, life ? "node_id" : "life");
  return answer(life->value.set_reachable(node_id, reachable != 0), error);
}

berth_code berth_life_view(const berth_life* life, berth_view** out, berth_error** error) {
  if (!life || !out) return missing(error, life ? "out" : "life");
  *out = new berth_view{life->value.view(), {}, {}};
  return BERTH_OK;
}

uint64_t berth_life_digest(const berth_life* life) { return life ? life->value.digest() : 0; }

}  // extern "C"
