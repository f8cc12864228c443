/* berth for C, and for every language that can call C.
 *
 * Handles are opaque. The caller owns each and frees it with the function of its name (null is allowed). Every function
 * that can fail returns a berth_code. If `error` is not null, it also stores an error there: its code, one line of text
 * and, for BERTH_INPUT, the place. Texts are UTF-8 and end with 0. JSON has the form of Nomad's API. Units are those of
 * berth/cluster.h.
 *
 *   berth_error* error = NULL;
 *   berth_cluster* cluster = NULL;
 *   if (berth_cluster_from_file("cluster.json", NULL, &cluster, &error) != BERTH_OK) {
 *     fprintf(stderr, "%s\n", berth_error_text(error));
 *     berth_error_free(error);
 *   }
 *
 * Threads: a cluster belongs to one thread at a time; a view may be read on any thread. The interface only grows:
 * functions and codes are added, structs carry their size, and nothing changes its meaning.
 */
#ifndef BERTH_BERTH_H
#define BERTH_BERTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum berth_code {
  BERTH_OK = 0,
  BERTH_INPUT = 1,             /* a file or a value in it cannot be used */
  BERTH_UNKNOWN_OBJECT = 2,    /* no such node, job or allocation */
  BERTH_PROCESSING_FAILED = 3, /* the evaluation, plan or request was refused; the text says why */
  BERTH_ALREADY_USED = 4,      /* a plan that was committed before, or of another cluster */
  BERTH_BAD_ARGUMENT = 5,      /* a null pointer, or a struct of an unknown size */
  BERTH_IN_USE = 6             /* another thread is using the cluster, or a strategy called it back; try again */
} berth_code;

typedef struct berth_error berth_error;
typedef struct berth_cluster berth_cluster;
typedef struct berth_plan berth_plan;
typedef struct berth_view berth_view;
typedef struct berth_life berth_life;

const char* berth_version(void); /* "0.2.0"; valid for ever */

berth_code berth_error_code(const berth_error* error);
const char* berth_error_text(const berth_error* error); /* one line; valid until the error is freed */
void berth_error_free(berth_error* error);
void berth_string_free(char* text);

/* Options of scheduling; null or zeroes: as Nomad. Set `size` to sizeof(berth_config). */
typedef struct berth_config {
  size_t size;
  uint64_t seed; /* 0: 1 */
  int order;     /* 0 nomad, 1 mix, 2 lazy, 3 identity */
  int algorithm; /* 0 as configured in the cluster, 1 binpack, 2 spread */
  int fixed;     /* not 0: without Nomad's quirks */
} berth_config;

berth_code berth_cluster_new(const berth_config* config, berth_cluster** out, berth_error** error);
/* Exports, API answers, CLUSTER.json, plain or gzip. */
berth_code berth_cluster_from_file(const char* path, const berth_config* config, berth_cluster** out,
                                   berth_error** error);
berth_code berth_cluster_from_json(const char* json, const berth_config* config, berth_cluster** out,
                                   berth_error** error);
void berth_cluster_free(berth_cluster* cluster);

berth_code berth_cluster_add_node(berth_cluster* cluster, const char* json, berth_error** error);
berth_code berth_cluster_set_node(berth_cluster* cluster, const char* node_id, const char* status, int eligible,
                                  int draining, berth_error** error);
/* Replaces the fit score by a ranking strategy, "name:key=value:..."; "nomad" restores Nomad's own. */
berth_code berth_cluster_score_by(berth_cluster* cluster, const char* strategy, berth_error** error);
/* An HCL job file, {"Job": {...}} or the bare object. `job_id`, if not null, gets a copy of the job's ID. */
berth_code berth_cluster_register_job(berth_cluster* cluster, const char* json, char** job_id, berth_error** error);
berth_code berth_cluster_remove_job(berth_cluster* cluster, const char* job_namespace, const char* job_id,
                                    berth_error** error);
berth_code berth_cluster_set_alloc_status(berth_cluster* cluster, const char* alloc_id, const char* status,
                                          berth_error** error);

/* Decides where to place the job's missing allocations, without changing the cluster. `now_ns`: unix time of the
 * decision. */
berth_code berth_cluster_schedule(berth_cluster* cluster, const char* job_namespace, const char* job_id, int64_t now_ns,
                                  berth_plan** out, berth_error** error);

typedef struct berth_placement { /* texts are valid until the plan is freed */
  const char *alloc_id, *name, *task_group, *node_id, *node_name;
  double score;
} berth_placement;

size_t berth_plan_placements(const berth_plan* plan);
/* Index < berth_plan_placements(); a larger one gives zeroes. */
berth_placement berth_plan_placement(const berth_plan* plan, size_t index);
size_t berth_plan_failed(const berth_plan* plan); /* allocations without a node */
size_t berth_plan_stops(const berth_plan* plan);  /* allocations that the plan ends, evictions included */
/* Several lines for people; free with berth_string_free. */
char* berth_plan_explain(const berth_plan* plan);
void berth_plan_free(berth_plan* plan);

typedef struct berth_commit_result {
  uint64_t index;              /* of the change; 0 if nothing changed */
  uint32_t committed, refused; /* placements */
} berth_commit_result;
berth_code berth_cluster_commit(berth_cluster* cluster, const berth_plan* plan, berth_commit_result* out,
                                berth_error** error);

/* A snapshot of the cluster, which does not change with the cluster. */
berth_code berth_cluster_view(const berth_cluster* cluster, berth_view** out, berth_error** error);
void berth_view_free(berth_view* view);
uint64_t berth_view_index(const berth_view* view);
/* The whole state as CLUSTER.json; free with berth_string_free. */
char* berth_view_to_json(const berth_view* view);

/* Columns: arrays of `count` elements, valid until the view is freed. Set `size` to the size of the struct before the
 * call. */
typedef struct berth_nodes {
  size_t size, count;
  const uint8_t* id;     /* 16 bytes each, ascending */
  const uint8_t* status; /* 0 initializing, 1 ready, 2 down, 3 disconnected */
  const uint8_t *eligible, *draining;
  const uint32_t* allocs; /* number that have not ended */
  const int64_t *cpu_usable_mhz, *cpu_used_mhz, *memory_usable_mb, *memory_used_mb, *disk_usable_mb, *disk_used_mb;
} berth_nodes;
berth_code berth_view_nodes(berth_view* view, berth_nodes* out, berth_error** error);

typedef struct berth_allocs {
  size_t size, count;
  const uint8_t* id;      /* 16 bytes each; oldest first */
  const int32_t* node;    /* position in berth_nodes; -1: unknown */
  const int32_t* job;     /* position among the view's jobs of allocations; -1: unknown */
  const uint8_t* desired; /* 0 run, 1 stop, 2 evict */
  const uint8_t* client;  /* 0 pending, 1 running, 2 complete, 3 failed, 4 lost, 5 unknown */
  const int64_t *cpu_mhz, *memory_mb, *disk_mb;
  const double* score;
  const uint64_t *create_index, *modify_index;
} berth_allocs;
berth_code berth_view_allocs(berth_view* view, berth_allocs* out, berth_error** error);

/* A cluster simulated on a virtual clock, with clients (berth/living.h). */
berth_code berth_life_new(uint64_t seed, berth_life** out, berth_error** error);
berth_code berth_life_from_file(const char* path, uint64_t seed, berth_life** out, berth_error** error);
void berth_life_free(berth_life* life);
int64_t berth_life_now_ns(const berth_life* life);
berth_code berth_life_advance(berth_life* life, int64_t ns, berth_error** error);
berth_code berth_life_add_node(berth_life* life, const char* json, berth_error** error);
berth_code berth_life_register_job(berth_life* life, const char* json, berth_error** error);
berth_code berth_life_stop_job(berth_life* life, const char* job_namespace, const char* job_id, int purge,
                               berth_error** error);
berth_code berth_life_drain_node(berth_life* life, const char* node_id, int64_t deadline_ns, berth_error** error);
berth_code berth_life_set_reachable(berth_life* life, const char* node_id, int reachable, berth_error** error);
berth_code berth_life_view(const berth_life* life, berth_view** out, berth_error** error);
uint64_t berth_life_digest(const berth_life* life);

#ifdef __cplusplus
}
#endif
#endif
