#include "tables/client_report.h"

#include "tables/state.h"

namespace berth::tables {

void prefetch_rows(const StateStore& store, AllocRow row, NodeRow node) {
  const Snapshot& state = store.current();
  const AllocTable& a = state.allocs;
  if (row >= a.size()) return;
  a.id.prefetch(row), a.node.prefetch(row), a.job.prefetch(row), a.job_key.prefetch(row), a.group.prefetch(row);
  a.desired.prefetch(row), a.client.prefetch(row), a.shape.prefetch(row), a.links.prefetch(row);
  a.next_on_node.prefetch(row), base::prefetch(&store.writer_columns().prev_on_node[row]), a.modify_index.prefetch(row),
      a.cold.prefetch(row);
  if (row < a.stamp.size()) a.stamp.prefetch(row);
  if (row < a.reported.size()) a.reported.prefetch(row);
  if (node < state.nodes.size()) state.nodes.use.prefetch(node);
}

void ask_for_neighbours(const StateStore& store, const ClientReport& report) {
  const Snapshot& state = store.current();
  const AllocTable& a = state.allocs;
  const AllocRow row = report.row;
  if (client_terminal(a.client[row]) == client_terminal(report.status) || report.node == kNoRow) return;
  // The allocation moves from one chain of its node to the other, and its resources become free.
  const NodeUse& use = state.nodes.use[report.node];
  const WriterColumns& writer = store.writer_columns();
  if (const AllocRow next = a.next_on_node[row]; next != kNoRow) base::prefetch(&writer.prev_on_node[next]);
  if (const AllocRow prev = writer.prev_on_node[row]; prev != kNoRow) a.next_on_node.prefetch(prev);
  if (use.ended_head != kNoRow) base::prefetch(&writer.prev_on_node[use.ended_head]);
  state.nodes.fixed->capacity.prefetch(report.node);
  const FreeBlock& block = state.nodes.free[report.node / FreeBlock::kRows];
  const std::size_t at = report.node % FreeBlock::kRows;
  base::prefetch(&block.cpu[at]), base::prefetch(&block.memory[at]), base::prefetch(&block.disk[at]);
  if (!state.nodes.eviction.empty()) {
    base::prefetch_all(state.nodes.eviction[report.node]);
    base::prefetch(&writer.priorities[report.node]);
  }
  base::prefetch_all(a.shape_of(row));
  if (const AllocStamp stamp = a.stamp_of(row); store.history() != nullptr && stamp.eval != kNoRow)
    base::prefetch_all(store.history()->evals[stamp.eval]);
}

}  // namespace berth::tables
