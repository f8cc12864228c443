#include "sim/inputs.h"

#include <filesystem>
#include <optional>

#include "io/files.h"
#include "sim/arrivals.h"
#include "sim/carbon.h"
#include "sim/cluster_generator.h"
#include "sim/datasets.h"
#include "sim/imported.h"
#include "sim/job_generator.h"
#include "sim/life_plan.h"
#include "sim/node_list.h"
#include "sim/openb.h"
#include "sim/trace_file.h"

namespace berth::sim {

namespace {

/// Reads the inputs of a workload and records which files it read.
class InputReader {
 public:
  explicit InputReader(const Workload& workload) : workload_(workload) {}

  Result<Inputs> read() {
    if (workload_.cluster.source == Source::openb_like || workload_.jobs.source == Source::openb_like) {
      auto summary = read_summary();
      if (!summary) return tl::unexpected(summary.error());
      summary_ = std::move(*summary);
    }
    auto cluster = read_cluster();
    if (!cluster) return tl::unexpected(cluster.error());
    out_.cluster = std::move(*cluster);
    auto jobs = read_jobs();
    if (!jobs) return tl::unexpected(jobs.error());
    out_.jobs = std::move(*jobs);
    if (workload_.carbon) {
      auto carbon = read_carbon(*workload_.carbon);
      if (!carbon) return tl::unexpected(carbon.error());
      out_.carbon = std::move(*carbon);
    }
    return std::move(out_);
  }

 private:
  Result<OpenbSummary> read_summary() {
    auto path = committed_data(workload_.path, "openb-summary.json");
    if (!path) return tl::unexpected(path.error());
    auto text = io::read_file(*path);
    if (!text) return tl::unexpected(text.error());
    out_.data_files.push_back(*path);
    return parse_openb_summary(*text, *path);
  }

  Result<GeneratedCluster> read_cluster() {
    const ClusterSpec& cluster = workload_.cluster;
    switch (cluster.source) {
      case Source::mix:
        return generate_cluster(cluster, workload_.seed);
      case Source::openb: {
        auto text = read_fetched("openb_node_list_" + cluster.list + ".csv");
        if (!text) return tl::unexpected(text.error());
        auto nodes = parse_openb_nodes(text->first, text->second);
        if (!nodes) return tl::unexpected(nodes.error());
        return openb_cluster(*nodes, cluster.gpu_shares, workload_.seed);
      }
      case Source::openb_like:
        return openb_like_cluster(summary_, cluster.nodes, cluster.racks, cluster.gpu_shares, workload_.seed);
      case Source::files:
        out_.data_files.push_back(beside(cluster.nodes_file));
        return read_cluster_file(out_.data_files.back());
      case Source::imported:
        for (std::string& file : files_below(beside(cluster.nodes_file))) out_.data_files.push_back(std::move(file));
        return imported_cluster(beside(cluster.nodes_file), out_.estimates);
      case Source::trace: {
        out_.data_files.push_back(beside(cluster.nodes_file));
        const auto text = io::read_file(out_.data_files.back());
        if (!text) return tl::unexpected(text.error());
        return parse_node_list(*text, out_.data_files.back(), workload_.seed);
      }
      case Source::nomad_grid:
        break;
    }
    return GeneratedCluster{};
  }

  Result<JobStream> read_jobs() {
    const JobsSpec& jobs = workload_.jobs;
    switch (jobs.source) {
      case Source::mix:
        return generate_jobs(jobs, workload_.seed);
      case Source::openb: {
        auto text = read_fetched("openb_pod_list_" + jobs.list + ".csv");
        if (!text) return tl::unexpected(text.error());
        auto tasks = parse_openb_tasks(text->first, text->second);
        if (!tasks) return tl::unexpected(tasks.error());
        return openb_jobs(*tasks, workload_.cluster.gpu_shares, jobs.count);
      }
      case Source::openb_like:
        return openb_like_jobs(summary_, static_cast<std::int64_t>(out_.cluster.nodes.size()), jobs.count,
                               workload_.cluster.gpu_shares, workload_.seed);
      case Source::files:
        out_.data_files.push_back(beside(jobs.file));
        return read_jobs_file(out_.data_files.back());
      case Source::trace: {
        out_.data_files.push_back(beside(jobs.file));
        const auto text = io::read_file(out_.data_files.back());
        if (!text) return tl::unexpected(text.error());
        return parse_trace(*text, out_.data_files.back(), jobs.count);
      }
      case Source::imported:
        return estimated_jobs(out_.cluster, workload_, beside(workload_.cluster.nodes_file), out_.estimates);
      case Source::nomad_grid:
        break;
    }
    return JobStream{};
  }

  Result<std::vector<double>> read_carbon(const CarbonSpec& carbon) {
    if (carbon.file.empty()) return carbon.grams_per_kwh;
    out_.data_files.push_back(beside(carbon.file));
    const auto text = io::read_file(out_.data_files.back());
    if (!text) return tl::unexpected(text.error());
    return parse_carbon(*text, out_.data_files.back());
  }

  /// Text and path of a file of the openb data.
  Result<std::pair<std::string, std::string>> read_fetched(const std::string& file) {
    auto path = fetched_data(workload_.path, "openb", file);
    if (!path) return tl::unexpected(path.error());
    auto text = io::read_file(*path);
    if (!text) return tl::unexpected(text.error());
    out_.data_files.push_back(*path);
    return std::pair(std::move(*text), *path);
  }

  [[nodiscard]] std::string beside(const std::string& file) const {
    return (std::filesystem::path(workload_.path).parent_path() / file).string();
  }

  const Workload& workload_;
  OpenbSummary summary_;  ///< empty if not needed
  Inputs out_;
};

}  // namespace

Result<Inputs> make_inputs(const Workload& workload) {
  auto out = InputReader(workload).read();
  if (!out) return out;
  set_due_times(out->jobs, workload.arrivals, workload.seed);
  if (workload.life) add_life_arrivals(out->jobs, workload);
  order_arrivals(out->jobs);
  return out;
}

}  // namespace berth::sim
