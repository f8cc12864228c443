// Finds workloads and their data. A relative path is looked up
//   1. from the workload file upwards,
//   2. from the current folder upwards: the checkout in use,
//   3. in the folder named by BERTH_DATA: a checkout, or laid out like the installed data,
//   4. in the installed data: share/berth with `workloads` (bench/macro of a checkout) and `datasets`,
//   5. from the program upwards: the checkout it was built in.
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"
#include "sim/workload.h"

namespace berth::sim {

/// The path of a committed data file, e.g. "nomad-grid.jsonl.gz" for datasets/nomad-grid.jsonl.gz.
[[nodiscard]] Result<std::string> committed_data(const std::string& workload_path, const std::string& file);

/// The path of a fetched file, e.g. dataset "openb", file "openb_pod_list_default.csv" for
/// datasets/data/openb/openb_pod_list_default.csv. If it is missing, the error names the command that fetches it.
[[nodiscard]] Result<std::string> fetched_data(const std::string& workload_path, const std::string& dataset,
                                               const std::string& file);

/// Returns `name` if it is a file or "-", else the path of the workload of that name.
[[nodiscard]] Result<std::string> find_workload(const std::string& name);

/// The paths of the shipped workloads, sorted by name; empty if none are found.
[[nodiscard]] std::vector<std::string> workload_files();

/// The file at `path`, or the files of a folder and the folders below it that an import takes, sorted.
[[nodiscard]] std::vector<std::string> files_below(const std::string& path);

/// The files that a workload is read from: the workload file and those it names. Of an imported cluster, all its files.
[[nodiscard]] std::vector<std::string> files_of(const Workload& workload);

}  // namespace berth::sim
