/* A C program over an installed berth: one node, one job of three allocations. */
#include <berth/berth.h>
#include <stdio.h>

static int stop_at(const char* what, berth_error* error) {
  fprintf(stderr, "%s: %s\n", what, berth_error_text(error));
  berth_error_free(error);
  return 1;
}

int main(void) {
  berth_error* error = NULL;
  berth_cluster* cluster = NULL;
  berth_plan* plan = NULL;
  char* job = NULL;
  const char* node =
      "{\"ID\": \"11111111-1111-4111-8111-111111111111\", \"Name\": \"n1\", \"Datacenter\": \"dc1\", \"Status\": "
      "\"ready\","
      " \"NodeResources\": {\"Cpu\": {\"CpuShares\": 4000}, \"Memory\": {\"MemoryMB\": 8192}, \"Disk\": {\"DiskMB\": "
      "20000}},"
      " \"Drivers\": {\"docker\": {\"Detected\": true, \"Healthy\": true}}, \"Attributes\": {\"driver.docker\": "
      "\"1\"}}";
  const char* spec =
      "{\"ID\": \"web\", \"Name\": \"web\", \"Type\": \"service\", \"Datacenters\": [\"dc1\"], \"TaskGroups\": "
      "[{\"Name\": \"g\","
      " \"Count\": 3, \"Tasks\": [{\"Name\": \"t\", \"Driver\": \"docker\", \"Config\": {\"image\": \"i\"},"
      " \"Resources\": {\"CPU\": 100, \"MemoryMB\": 64}}]}]}";
  if (berth_cluster_new(NULL, &cluster, &error) != BERTH_OK) return stop_at("cluster", error);
  if (berth_cluster_add_node(cluster, node, &error) != BERTH_OK) return stop_at("node", error);
  if (berth_cluster_register_job(cluster, spec, &job, &error) != BERTH_OK) return stop_at("job", error);
  if (berth_cluster_schedule(cluster, "default", job, 1, &plan, &error) != BERTH_OK) return stop_at("schedule", error);
  printf("placed %zu of 3\n", berth_plan_placements(plan));
  berth_plan_free(plan);
  berth_string_free(job);
  berth_cluster_free(cluster);
  return 0;
}
