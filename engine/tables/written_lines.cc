#include "tables/written_lines.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace berth::tables {
namespace {

constexpr std::uintptr_t kLine = 64;

/// Number of lines that [begin, end) touches.
std::uint64_t lines_of(std::uintptr_t begin, std::uintptr_t end) {
  return begin == end ? 0 : (end - 1) / kLine - begin / kLine + 1;
}

/// Counts [begin, end) of a chunk; `before`: the same bytes as they were, null: they were appended.
void count_bytes(const std::byte* before, const std::byte* begin, const std::byte* end, WrittenLines& out) {
  while (begin < end) {
    const auto at = reinterpret_cast<std::uintptr_t>(begin);
    const std::byte* const line_end = std::min(end, begin + ((at / kLine + 1) * kLine - at));
    std::uint64_t differ = 0;
    for (const std::byte* byte = begin; byte < line_end; ++byte) differ += !before || before[byte - begin] != *byte;
    out.bytes += differ, out.lines += differ > 0;
    if (before) before += line_end - begin;
    begin = line_end;
  }
}

/// `old`: the rows that existed before, at the same or another address.
template <class T>
void compare_chunks(std::span<const T> old, std::span<const T> now, WrittenLines& out) {
  const auto bytes = std::as_bytes(now);
  const std::size_t old_bytes = old.size() * sizeof(T);
  if (old.data() != now.data() && old_bytes > 0)
    count_bytes(std::as_bytes(old).data(), bytes.data(), bytes.data() + old_bytes, out);
  count_bytes(nullptr, bytes.data() + old_bytes, bytes.data() + bytes.size(), out);
}

template <class T, std::size_t kChunk>
void compare(const CowVector<T, kChunk>& before, const CowVector<T, kChunk>& now, WrittenLines& out) {
  for (std::size_t index = 0; index < now.chunk_count(); ++index) {
    const std::span<const T> chunk = now.chunk_at(index);
    const std::span<const T> old = index < before.chunk_count() ? before.chunk_at(index) : std::span<const T>();
    compare_chunks(old, chunk, out);
  }
}

/// Entries [from, to) of a log of rows.
void add_log(std::uint64_t from, std::uint64_t to, WrittenLines& out) {
  out.bytes += (to - from) * sizeof(NodeRow);
  out.lines += lines_of(from * sizeof(NodeRow), to * sizeof(NodeRow));
}

}  // namespace

void WrittenTables::operator+=(const WrittenTables& other) {
  nodes += other.nodes, allocs += other.allocs, jobs += other.jobs, evals += other.evals;
  deployments += other.deployments;
}

WrittenLines WrittenTables::all() const {
  WrittenLines out = nodes;
  out += allocs, out += jobs, out += evals, out += deployments;
  return out;
}

WrittenTables written_lines(const Snapshot& before, const Snapshot& now) {
  WrittenTables out;
  const auto each = [](WrittenLines& to, const auto& a, const auto& b, const auto&... columns) {
    (compare(a.*columns, b.*columns, to), ...);
  };
  NodeUseColumns::each_pair(before.nodes, now.nodes, [&](const auto& a, const auto& b) { compare(a, b, out.nodes); });
  each(out.nodes, before.nodes, now.nodes, &NodeTable::free, &NodeTable::state);
  add_log(before.nodes.use_changes, now.nodes.use_changes, out.nodes);
  add_log(before.nodes.ended_changes, now.nodes.ended_changes, out.nodes);
  add_log(before.nodes.ready_changes, now.nodes.ready_changes, out.nodes);
  using A = AllocTable;
  each(out.allocs, before.allocs, now.allocs, &A::id, &A::node, &A::job, &A::job_key, &A::group, &A::name_index,
       &A::desired, &A::client, &A::shape, &A::next_on_node, &A::next_of_job, &A::links, &A::create_index,
       &A::modify_index, &A::stamp, &A::reported, &A::details, &A::logs, &A::planned_jobs, &A::shapes);
  each(out.jobs, before.jobs, now.jobs, &JobTable::versions, &JobTable::stored, &JobTable::objects, &JobTable::claims,
       &JobTable::keys);
  using E = EvalTable;
  each(out.evals, before.evals, now.evals, &E::id, &E::job_key, &E::priority, &E::status, &E::create_index,
       &E::modify_index, &E::packed);
  using D = DeploymentTable;
  each(out.deployments, before.deployments, now.deployments, &D::id, &D::job_key, &D::job_version, &D::create_index,
       &D::active, &D::next_of_job, &D::object);
  return out;
}

}  // namespace berth::tables
