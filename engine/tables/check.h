// The tables' invariants as functions: each returns one line per problem, and none if all invariants hold.
//
// They read everything (O(rows), some with a sort or a hash set), for tests after every commit and for debug builds.
#pragma once

#include <string>
#include <vector>

#include "tables/state.h"

namespace berth::tables {

/// Use sums and counts equal those over the allocations of each node that are not client-terminal; chains contain each
/// allocation once, on the right list; by_id is sorted and complete; codes are in their dictionaries and values are
/// distinct; FreeBlocks and capacities match their sources.
[[nodiscard]] std::vector<std::string> check_node_table(const Snapshot& state);
/// Columns of one length; nodes, jobs, groups and shapes exist.
[[nodiscard]] std::vector<std::string> check_alloc_table(const Snapshot& state);
/// Current versions belong to their key; the job chain contains each allocation of the job once, newest first; jobs
/// with one ID form one ring; compiled groups agree with the specification and their shapes are interned.
[[nodiscard]] std::vector<std::string> check_job_table(const Snapshot& state);
[[nodiscard]] std::vector<std::string> check_eval_table(const Snapshot& state);
[[nodiscard]] std::vector<std::string> check_deployment_table(const Snapshot& state);
/// All of the above.
[[nodiscard]] std::vector<std::string> check_tables(const Snapshot& state);
/// Previous and next in a node's chain agree; counts by priority match the running allocations. Requires sound tables.
[[nodiscard]] std::vector<std::string> check_writer_columns(const StateStore& store);
/// Tables and writer's columns.
[[nodiscard]] std::vector<std::string> check_tables(const StateStore& store);

/// The part of check_node_table that concerns one node: sums, counts, chains, mirrors. Cost: O(all allocations of the
/// node).
void check_node(const Snapshot& state, NodeRow row, std::vector<std::string>& problems);

}  // namespace berth::tables
