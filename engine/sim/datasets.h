// Where workloads and their data lie. A relative path is looked up
//   1. from the workload file upwards,
//   2. from the current folder upwards: the checkout that one works in,
//   3. in the folder that BERTH_DATA names, a checkout or one laid out like what is installed,
//   4. in what was installed with the program: share/berth with `workloads` (bench/macro of a checkout) and `datasets`,
//   5. from the program upwards: the checkout that it was built in.
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"
#include "sim/workload.h"

namespace berth::sim {

/// The path of a committed data file, e.g. "nomad-grid.jsonl.gz" for datasets/nomad-grid.jsonl.gz.
[[nodiscard]] Result<std::string> committed_data(const std::string& workload_path, const std::string& file);

/// The path of a fetched file, e.g. dataset "openb", file "openb_pod_list_default.csv" for
/// datasets/data/openb/openb_pod_list_default.csv. When it is missing the error says which command brings it.
[[nodiscard]] Result<std::string> fetched_data(const std::string& workload_path, const std::string& dataset,
                                               const std::string& file);

/// `name` as given when it is a file or "-", else the workload of that name, found in the same way.
[[nodiscard]] Result<std::string> find_workload(const std::string& name);

/// The paths of the shipped workloads, sorted by name; empty where none are found.
[[nodiscard]] std::vector<std::string> workload_files();

/// The files that a workload is read from: its own, and those that it names.
[[nodiscard]] std::vector<std::string> files_of(const Workload& workload);

}  // namespace berth::sim
