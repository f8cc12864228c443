// Clusters: JSON of all kinds, snapshots, archives.
#include <algorithm>
#include <functional>

#include "fuzz/harness.h"
#include "io/export_import.h"
#include "io/json_parse.h"
#include "io/snapshot/small_snapshot.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/check.h"

namespace berth::fuzz {
namespace {

/// What every import promises (R-MODEL-614), whatever it was given.
void require_complete(const model::ClusterState& state) {
  for (const model::Allocation& alloc : state.allocs) {
    require(alloc.job != nullptr, "an imported allocation has no job: ", alloc.id);
    if (model::is_terminal(alloc)) continue;
    require(alloc.job->group(alloc.task_group) != nullptr, "an imported allocation is of no group: ", alloc.id);
    require(alloc.allocated_resources.has_value(), "an imported allocation holds nothing: ", alloc.id);
  }
  const auto ascend = [](const auto& list) {
    return std::adjacent_find(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.id >= b.id; }) ==
           list.end();
  };
  require(ascend(state.nodes) && ascend(state.allocs) && ascend(state.evals) && ascend(state.deployments),
          "an object is imported twice");
  for (const model::Node& node : state.nodes)
    require(std::any_of(state.node_pools.begin(), state.node_pools.end(),
                        [&](const model::NodePool& pool) { return pool.name == node.node_pool; }),
            "the pool of an imported node is not there: " + node.id);
}

/// An imported cluster fills consistent tables, and is the same after it was written and read.
void check_import(const Result<io::ClusterImport>& imported) {
  if (!imported) return require_line(imported.error().line());
  require_complete(imported->state);
  tables::StateStore store;
  store.load(imported->state);
  require_none(tables::check_tables(store.current()), "tables of an imported cluster");
  const json::Value written = io::cluster_to_json(imported->state);
  const auto again = io::import_cluster_json(written, "again");
  require(again.has_value(), "a written cluster cannot be read: ", (again ? "" : again.error().line()));
  require_equal(json::to_text(written), json::to_text(io::cluster_to_json(again->state)),
                "a written cluster differs when it is read again");
}

void fuzz_cluster(std::string_view input) {
  const auto document = io::parse_json(input);
  if (!document) return require_line(document.error().line());
  check_import(io::import_cluster_json(*document, "cluster.json"));
}

Result<io::ClusterImport> import_snapshot(std::string records) {
  testing::SnapshotParts parts;
  parts.state = std::move(records);
  return io::import_cluster(scratch_file("backup.snap", parts.file(0)));
}

/// Moves one date of the input beyond the range of nanoseconds in 64 bits. A finding if it is neither refused, nor
/// kept as the text of an unknown member, nor without effect on the import. A date has 15 bytes: the byte 1, seconds
/// since the year 1 (R-SNAP-36), nanoseconds, time zone.
void check_dates(std::string_view input, const model::ClusterState& state) {
  constexpr std::string_view kBegin("\xaf\x01\0\0\0\x0e", 6), kFar("\xaf\x01\0\0\0\x1f", 6);
  std::vector<std::size_t> places;
  for (std::size_t at = input.find(kBegin); at != input.npos; at = input.find(kBegin, at + 1)) places.push_back(at);
  if (places.empty()) return;
  std::string changed(input);
  changed.replace(places[std::hash<std::string_view>{}(input) % places.size()], kFar.size(), kFar);
  const auto imported = import_snapshot(std::move(changed));
  if (!imported) return require_line(imported.error().line());
  const auto text_of = [](const model::ClusterState& each) {
    constexpr std::string_view kBeginText = R"(\u0001\u0000\u0000\u0000\u000e)";
    constexpr std::string_view kFarText = R"(\u0001\u0000\u0000\u0000\u001f)";
    std::string text = json::to_text(io::cluster_to_json(each));
    for (std::size_t at = text.find(kFarText); at != text.npos; at = text.find(kFarText, at))
      text.replace(at, kFarText.size(), kBeginText);
    return text;
  };
  require_equal(text_of(state), text_of(imported->state), "a date out of range is read");
}

void fuzz_snapshot(std::string_view input) {
  const auto imported = import_snapshot(std::string(input));
  check_import(imported);
  if (imported) check_dates(input, imported->state);
}

void fuzz_archive(std::string_view input) { check_import(io::import_cluster(scratch_file("cluster", input))); }

const FuzzTarget kCluster("cluster", fuzz_cluster);
const FuzzTarget kSnapshot("snapshot", fuzz_snapshot);
const FuzzTarget kArchive("archive", fuzz_archive);

}  // namespace
}  // namespace berth::fuzz
