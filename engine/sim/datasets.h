// Where the data of a workload lies: the folder `datasets` of the checkout, found from the workload file upwards, then
// from the current folder upwards, then from the program upwards.
#pragma once

#include <string>

#include "berth/result.h"

namespace berth::sim {

/// The path of a committed data file, e.g. "nomad-grid.jsonl.gz" for datasets/nomad-grid.jsonl.gz.
[[nodiscard]] Result<std::string> committed_data(const std::string& workload_path, const std::string& file);

/// The path of a fetched file, e.g. dataset "openb", file "openb_pod_list_default.csv" for
/// datasets/data/openb/openb_pod_list_default.csv. When it is missing the error says which command brings it.
[[nodiscard]] Result<std::string> fetched_data(const std::string& workload_path, const std::string& dataset,
                                               const std::string& file);

/// `name` as given when it is a file, else bench/macro/NAME.toml found in the same way.
[[nodiscard]] Result<std::string> find_workload(const std::string& name);

}  // namespace berth::sim
