#include "sim/inputs.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "io/files.h"
#include "sim/arrivals.h"
#include "sim/cluster_generator.h"
#include "sim/datasets.h"
#include "sim/job_generator.h"
#include "sim/life_plan.h"
#include "sim/openb.h"

namespace berth::sim {

Result<Inputs> make_inputs(const Workload& workload) {
  Inputs out;
  const auto beside = [&](const std::string& file) {
    return (std::filesystem::path(workload.path).parent_path() / file).string();
  };
  const auto text_of = [&](const std::string& file) -> Result<std::pair<std::string, std::string>> {
    auto path = fetched_data(workload.path, "openb", file);
    if (!path) return tl::unexpected(path.error());
    auto text = io::read_file(*path);
    if (!text) return tl::unexpected(text.error());
    out.data_files.push_back(*path);
    return std::pair(std::move(*text), *path);
  };
  std::optional<OpenbSummary> summary;
  if (workload.cluster.source == Source::openb_like || workload.jobs.source == Source::openb_like) {
    auto path = committed_data(workload.path, "openb-summary.json");
    if (!path) return tl::unexpected(path.error());
    auto text = io::read_file(*path);
    if (!text) return tl::unexpected(text.error());
    auto parsed = parse_openb_summary(*text, *path);
    if (!parsed) return tl::unexpected(parsed.error());
    summary = std::move(*parsed);
    out.data_files.push_back(*path);
  }
  const std::int64_t shares = workload.cluster.gpu_shares;
  switch (workload.cluster.source) {
    case Source::mix:
      out.cluster = generate_cluster(workload.cluster, workload.seed);
      break;
    case Source::openb: {
      auto text = text_of("openb_node_list_" + workload.cluster.list + ".csv");
      if (!text) return tl::unexpected(text.error());
      auto nodes = parse_openb_nodes(text->first, text->second);
      if (!nodes) return tl::unexpected(nodes.error());
      out.cluster = openb_cluster(*nodes, shares, workload.seed);
      break;
    }
    case Source::openb_like:
      out.cluster = openb_like_cluster(*summary, workload.cluster.nodes, workload.cluster.racks, shares, workload.seed);
      break;
    case Source::files: {
      auto cluster = read_cluster_file(beside(workload.cluster.nodes_file));
      if (!cluster) return tl::unexpected(cluster.error());
      out.cluster = std::move(*cluster);
      out.data_files.push_back(beside(workload.cluster.nodes_file));
      break;
    }
    case Source::nomad_grid:
      break;
  }
  switch (workload.jobs.source) {
    case Source::mix:
      out.jobs = generate_jobs(workload.jobs, workload.seed);
      break;
    case Source::openb: {
      auto text = text_of("openb_pod_list_" + workload.jobs.list + ".csv");
      if (!text) return tl::unexpected(text.error());
      auto tasks = parse_openb_tasks(text->first, text->second);
      if (!tasks) return tl::unexpected(tasks.error());
      out.jobs = openb_jobs(*tasks, shares, workload.jobs.count);
      break;
    }
    case Source::openb_like:
      out.jobs = openb_like_jobs(*summary, static_cast<std::int64_t>(out.cluster.nodes.size()), workload.jobs.count,
                                 shares, workload.seed);
      break;
    case Source::files: {
      auto jobs = read_jobs_file(beside(workload.jobs.file));
      if (!jobs) return tl::unexpected(jobs.error());
      out.jobs = std::move(*jobs);
      out.data_files.push_back(beside(workload.jobs.file));
      break;
    }
    case Source::nomad_grid:
      break;
  }
  set_due_times(out.jobs, workload.arrivals, workload.seed);
  if (workload.life) add_life_arrivals(out.jobs, workload);
  // Order of events at equal times: priority, then number.
  std::stable_sort(out.jobs.arrivals.begin(), out.jobs.arrivals.end(), [&](const auto& a, const auto& b) {
    if (a.due_ns != b.due_ns) return a.due_ns < b.due_ns;
    return out.jobs.templates[a.template_index]->priority > out.jobs.templates[b.template_index]->priority;
  });
  return out;
}

}  // namespace berth::sim
