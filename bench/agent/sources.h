// Imports clusters from files and folders, as io/export_import.h reads them, or from the address of an agent.
#pragma once

#include <string>
#include <vector>

#include "agent/connection.h"
#include "io/export_import.h"

namespace berth::agent {

struct SourceOptions {
  io::ImportOptions import;
  double requests_per_second = 100;        ///< to an agent
  double timeout_s = 30;                   ///< of one request
  bool quiet = false;                      ///< shows no progress
  std::function<bool()> wanted = nullptr;  ///< Settings::wanted of an agent
  bool followed = false;  ///< the caller follows the event stream, so changes during the import are ignored
};

/// Like io::import_clusters(). From a source that is an address (is_address()), reads the whole cluster: lists in
/// pages, then each object. Objects that changed meanwhile are read again until a pass over the lists finds no change;
/// a note has the range of indexes. If an agent fails or its cluster keeps changing, returns an error, and nothing is
/// imported.
[[nodiscard]] Result<io::ClusterImport> import_sources(const std::vector<std::string>& sources,
                                                       const SourceOptions& options = {});

}  // namespace berth::agent
