// Clusters: JSON of all kinds, snapshots, archives.
#include "fuzz/harness.h"
#include "io/export_import.h"
#include "io/json_parse.h"
#include "io/snapshot/small_snapshot.h"
#include "tables/check.h"

namespace berth::fuzz {
namespace {

/// An imported cluster fills consistent tables, and is the same after it was written and read.
void check_import(const Result<io::ClusterImport>& imported) {
  if (!imported) return require_line(imported.error().line());
  tables::StateStore store;
  store.load(imported->state);
  const std::vector<std::string> problems = tables::check_tables(store.current());
  require(problems.empty(), problems.empty() ? "" : "tables of an imported cluster: " + problems[0]);
  const json::Value written = io::cluster_to_json(imported->state);
  const auto again = io::import_cluster_json(written, "again");
  require(again.has_value(), "a written cluster cannot be read: " + (again ? "" : again.error().line()));
  require_equal(json::to_text(written), json::to_text(io::cluster_to_json(again->state)),
                "a written cluster differs when it is read again");
}

void fuzz_cluster(std::string_view input) {
  const auto document = io::parse_json(input);
  if (!document) return require_line(document.error().line());
  check_import(io::import_cluster_json(*document, "cluster.json"));
}

void fuzz_snapshot(std::string_view input) {
  testing::SnapshotParts parts;
  parts.state = std::string(input);
  check_import(io::import_cluster(scratch_file("backup.snap", parts.file())));
}

void fuzz_archive(std::string_view input) { check_import(io::import_cluster(scratch_file("cluster", input))); }

const FuzzTarget kCluster("cluster", fuzz_cluster);
const FuzzTarget kSnapshot("snapshot", fuzz_snapshot);
const FuzzTarget kArchive("archive", fuzz_archive);

}  // namespace
}  // namespace berth::fuzz
