/* The C interface as a C program meets it: load, register, schedule, commit, look; then let a cluster live. Prints what it does; exits with 1 at
 * the first thing that is not as it should be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "berth/berth.h"

static const char* const kNode =
    "{\"ID\": \"%08x-0000-4000-8000-000000000000\", \"Name\": \"node-%d\", \"Datacenter\": \"dc1\", \"NodePool\": \"default\","
    " \"Status\": \"ready\", \"SchedulingEligibility\": \"eligible\","
    " \"Attributes\": {\"kernel.name\": \"linux\", \"driver.exec\": \"1\"},"
    " \"Drivers\": {\"exec\": {\"Detected\": true, \"Healthy\": true}},"
    " \"NodeResources\": {\"Memory\": {\"MemoryMB\": 4096}, \"Disk\": {\"DiskMB\": 20000},"
    " \"Networks\": [{\"Mode\": \"host\", \"Device\": \"eth0\", \"IP\": \"10.0.0.1\", \"CIDR\": \"10.0.0.1/32\", \"MBits\": 1000}],"
    " \"Processors\": {\"Topology\": {\"Cores\": [{\"ID\": 0, \"BaseSpeed\": 4000}]}}}}";
static const char* const kJob =
    "{\"Job\": {\"ID\": \"web\", \"Name\": \"web\", \"Type\": \"service\", \"Datacenters\": [\"dc1\"],"
    " \"TaskGroups\": [{\"Name\": \"work\", \"Count\": 3, \"EphemeralDisk\": {\"SizeMB\": 300}, \"Tasks\": [{\"Name\": \"main\","
    " \"Driver\": \"exec\", \"Config\": {\"command\": \"/bin/true\"}, \"Resources\": {\"CPU\": 1000, \"MemoryMB\": 512}}]}]}}";

static void check(berth_code code, berth_error* error, const char* what) {
  if (code == BERTH_OK) return;
  fprintf(stderr, "%s: %s\n", what, berth_error_text(error));
  berth_error_free(error);
  exit(1);
}
static void must(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

static void schedule_once(void) {
  berth_error* error = NULL;
  berth_cluster* cluster = NULL;
  check(berth_cluster_new(NULL, &cluster, &error), error, "new");
  for (int i = 1; i <= 3; ++i) {
    char node[2048];
    snprintf(node, sizeof node, kNode, (unsigned)i, i);
    check(berth_cluster_add_node(cluster, node, &error), error, "add_node");
  }
  char* job_id = NULL;
  check(berth_cluster_register_job(cluster, kJob, &job_id, &error), error, "register_job");
  berth_plan* plan = NULL;
  check(berth_cluster_schedule(cluster, "default", job_id, 0, &plan, &error), error, "schedule");
  must(berth_plan_placements(plan) == 3 && berth_plan_failed(plan) == 0, "three placements");
  const berth_placement first = berth_plan_placement(plan, 0);
  printf("%s goes to %s, score %.3f\n", first.name, first.node_name, first.score);
  must(strcmp(first.name, "web.work[0]") == 0 && strlen(first.alloc_id) == 36, "the first placement has its name");
  must(berth_plan_placement(plan, 3).name == NULL, "there is no fourth");
  berth_commit_result result;
  check(berth_cluster_commit(cluster, plan, &result, &error), error, "commit");
  must(result.committed == 3 && result.refused == 0, "all committed");
  must(berth_cluster_commit(cluster, plan, &result, &error) == BERTH_ALREADY_USED, "a plan is committed once");
  must(berth_error_code(error) == BERTH_ALREADY_USED && strlen(berth_error_text(error)) > 0, "the error says why");
  berth_error_free(error), error = NULL;

  berth_view* view = NULL;
  check(berth_cluster_view(cluster, &view, &error), error, "view");
  berth_nodes nodes = {.size = sizeof nodes};
  check(berth_view_nodes(view, &nodes, &error), error, "nodes");
  int64_t used = 0;
  for (size_t i = 0; i < nodes.count; ++i) used += nodes.cpu_used_mhz[i];
  must(nodes.count == 3 && used == 3000, "3,000 MHz are used");
  berth_allocs allocs = {.size = sizeof allocs};
  check(berth_view_allocs(view, &allocs, &error), error, "allocs");
  must(allocs.count == 3 && allocs.memory_mb[0] == 512 && allocs.node[0] >= 0, "allocations have columns");
  nodes.size = 8;
  must(berth_view_nodes(view, &nodes, &error) == BERTH_BAD_ARGUMENT, "a struct of another size is refused");
  berth_error_free(error), error = NULL;
  must(berth_cluster_remove_job(cluster, "default", "nope", &error) == BERTH_UNKNOWN_OBJECT, "an unknown job is refused");
  berth_error_free(error), error = NULL;
  must(berth_cluster_add_node(cluster, "{", &error) == BERTH_INPUT, "broken JSON is refused");
  berth_error_free(error), error = NULL;
  must(berth_cluster_add_node(NULL, "{}", NULL) == BERTH_BAD_ARGUMENT, "null is refused, without an error to fill too");
  berth_view_free(view), berth_plan_free(plan), berth_string_free(job_id), berth_cluster_free(cluster);
}

static void live(void) {
  berth_error* error = NULL;
  berth_life* life = NULL;
  check(berth_life_new(7, &life, &error), error, "life");
  char node[2048];
  for (int i = 1; i <= 4; ++i) {
    snprintf(node, sizeof node, kNode, (unsigned)i, i);
    check(berth_life_add_node(life, node, &error), error, "add_node");
  }
  check(berth_life_register_job(life, kJob, &error), error, "register_job");
  check(berth_life_advance(life, 10000000000, &error), error, "advance");
  check(berth_life_set_reachable(life, "00000001-0000-4000-8000-000000000000", 0, &error), error, "set_reachable");
  check(berth_life_advance(life, 120000000000, &error), error, "advance");
  berth_view* view = NULL;
  check(berth_life_view(life, &view, &error), error, "view");
  berth_nodes nodes = {.size = sizeof nodes};
  check(berth_view_nodes(view, &nodes, &error), error, "nodes");
  must(nodes.count == 4 && nodes.status[0] == 2 && nodes.status[1] == 1, "the node that is cut off is down");
  berth_allocs allocs = {.size = sizeof allocs};
  check(berth_view_allocs(view, &allocs, &error), error, "allocs");
  int running = 0;
  for (size_t i = 0; i < allocs.count; ++i) running += allocs.client[i] == 1 && allocs.desired[i] == 0;
  printf("%d of %zu allocations run, digest %016llx\n", running, allocs.count, (unsigned long long)berth_life_digest(life));
  must(running == 3, "three allocations run again");
  must(berth_life_advance(life, -1, &error) == BERTH_BAD_ARGUMENT, "time does not go back");
  berth_error_free(error);
  berth_view_free(view), berth_life_free(life);
}

int main(void) {
  printf("berth %s\n", berth_version());
  schedule_once();
  live();
  return 0;
}
