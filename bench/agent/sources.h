// Clusters from whatever an operator has: files and folders, as io/export_import.h reads them, and the address of an
// agent.
#pragma once

#include <string>
#include <vector>

#include "agent/connection.h"
#include "io/export_import.h"

namespace berth::agent {

struct SourceOptions {
  io::ImportOptions import;
  double requests_per_second = 100;  ///< to an agent, at most
  double timeout_s = 30;             ///< of one request
  bool quiet = false;                ///< shows no progress
  bool followed = false;  ///< the caller follows the event stream: what changes while an agent is read is no concern
};

/// As io::import_clusters(); a source that is an address (is_address()) is asked for all that a cluster consists of.
/// Its lists come in pages, then each object. What changed meanwhile is read again, until one pass over the lists finds
/// nothing changed; the range of indexes is named in a note. An agent that fails, or whose cluster does not come to
/// rest, is an error, and nothing is half imported.
[[nodiscard]] Result<io::ClusterImport> import_sources(const std::vector<std::string>& sources,
                                                       const SourceOptions& options = {});

}  // namespace berth::agent
