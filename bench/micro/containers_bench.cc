// The containers of the tables, each compared with a common alternative. One item is one element that is read, written,
// found or inserted.
#include <tsl/robin_map.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <unordered_map>

#include "micro/micro.h"
#include "reconcile/name_index.h"
#include "sim/histogram.h"
#include "tables/id_index.h"
#include "tables/node_table.h"
#include "tables/symbols.h"

namespace berth::micro {
namespace {

using UseRows = tables::CowVector<tables::NodeUse>;

/// A vector that is copied for every snapshot: the alternative to CowVector.
struct CopiedRows {
  using Held = std::shared_ptr<const std::vector<tables::NodeUse>>;
  std::shared_ptr<std::vector<tables::NodeUse>> rows = std::make_shared<std::vector<tables::NodeUse>>();
  void push_back(const tables::NodeUse& use) { rows->push_back(use); }
  [[nodiscard]] Held hold() const { return rows; }
  void own() { rows = std::make_shared<std::vector<tables::NodeUse>>(*rows); }
  tables::NodeUse& edit(std::size_t row) { return (*rows)[row]; }
  const tables::NodeUse& operator[](std::size_t row) const { return (*rows)[row]; }
};
struct SharedRows {
  using Held = UseRows;
  UseRows rows;
  void push_back(const tables::NodeUse& use) { rows.push_back(use); }
  [[nodiscard]] Held hold() const { return rows; }
  void own() {}
  tables::NodeUse& edit(std::size_t row) { return rows.edit(row); }
  const tables::NodeUse& operator[](std::size_t row) const { return rows[row]; }
};

template <class Column>
Column use_column(std::size_t n) {
  Column out;
  tables::NodeUse use;
  for (std::size_t i = 0; i < n; ++i) use.cpu_mhz = static_cast<std::int64_t>(i), out.push_back(use);
  return out;
}

/// A commit that changes sixteen rows of 64 B while a snapshot holds the previous state.
template <class Column>
void BM_CommitSixteenRows(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  Column column = use_column<Column>(n);
  std::size_t row = 0;
  typename Column::Held held = column.hold();
  const auto commit = [&] {
    held = column.hold();
    column.own();
    for (int i = 0; i < 16; ++i) column.edit(row = (row + 7919) % n).cpu_mhz += 1;
  };
  const typename Column::Held first = held;
  commit();
  std::int64_t changed = 0, before = 0;
  for (std::size_t i = 0; i < n; ++i) changed += column[i].cpu_mhz, before += static_cast<std::int64_t>(i);
  if (changed != before + 16) return wrong_answer(state, "the commit is not in the column, or not once");
  for (auto _ : state) commit();
  state.SetItemsProcessed(state.iterations() * 16);
  state.SetBytesProcessed(state.iterations() * 16 * static_cast<std::int64_t>(sizeof(tables::NodeUse)));
}
BENCHMARK_TEMPLATE(BM_CommitSixteenRows, SharedRows)->ArgName("rows")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_CommitSixteenRows, CopiedRows)->ArgName("rows")->ArgsProduct({sizes()});

/// Cost of the chunks for a reader: rows in random order, as visited by a sampled Select.
template <class Column>
void BM_ReadRandomRows(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Column column = use_column<Column>(n);
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  const auto read = [&] {
    std::int64_t sum = 0;
    for (const std::uint32_t row : order) sum += column[row].cpu_mhz;
    return sum;
  };
  if (read() != static_cast<std::int64_t>(n * (n - 1) / 2)) return wrong_answer(state, "not the sum of all rows");
  for (auto _ : state) benchmark::DoNotOptimize(read());
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<std::int64_t>(sizeof(tables::NodeUse)));
}
BENCHMARK_TEMPLATE(BM_ReadRandomRows, SharedRows)->ArgName("rows")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_ReadRandomRows, CopiedRows)->ArgName("rows")->ArgsProduct({sizes()});

base::Uuid id_of(std::uint64_t i) { return {i * 0xd6e8feb86659fd93ULL + 1, i * 0xa0761d6478bd642fULL + 7}; }

struct BerthIds {
  tables::CowVector<base::Uuid, 1024> ids;
  std::unique_ptr<tables::IdIndex<base::AllocRow, decltype(ids)>> index;
  explicit BerthIds(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) ids.push_back(id_of(i));
    index = std::make_unique<tables::IdIndex<base::AllocRow, decltype(ids)>>(ids);
    benchmark::DoNotOptimize(find(id_of(0)));
  }
  std::uint32_t find(base::Uuid id) { return index->find(id); }
  [[nodiscard]] std::size_t bytes() const { return index->bytes(); }
};
/// A map in addition to the column, which stores every ID again. Memory: `kSlot` bytes per bucket, `kEntry` per entry.
template <class Map, std::size_t kSlot, std::size_t kEntry>
struct MapOfIds {
  Map rows;
  explicit MapOfIds(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) rows[id_of(i)] = static_cast<std::uint32_t>(i);
  }
  std::uint32_t find(base::Uuid id) { return rows.find(id)->second; }
  [[nodiscard]] std::size_t bytes() const { return rows.bucket_count() * kSlot + rows.size() * kEntry; }
};
using RobinIds = MapOfIds<tsl::robin_map<base::Uuid, std::uint32_t, base::UuidHash>, 32, 0>;
using StdIds = MapOfIds<std::unordered_map<base::Uuid, std::uint32_t, base::UuidHash>, 8, 48>;

/// Rows by ID, in random order.
template <class Index>
void BM_FindById(benchmark::State& state) {
  const auto n = static_cast<std::uint64_t>(state.range(0));
  Index index(n);
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937(4));
  for (const std::uint32_t row : order)
    if (index.find(id_of(row)) != row) return wrong_answer(state, "another row");
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (const std::uint32_t row : order) sum += index.find(id_of(row));
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_id"] = static_cast<double>(index.bytes()) / static_cast<double>(n);
}
BENCHMARK_TEMPLATE(BM_FindById, BerthIds)->ArgName("ids")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_FindById, RobinIds)->ArgName("ids")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_FindById, StdIds)->ArgName("ids")->ArgsProduct({sizes()});

struct StdSymbols {
  std::unordered_map<std::string, std::uint32_t> index;
  std::uint32_t intern(const std::string& text) {
    return index.emplace(text, static_cast<std::uint32_t>(index.size())).first->second;
  }
  [[nodiscard]] std::uint32_t find(const std::string& text) const { return index.find(text)->second; }
};

std::vector<std::string> names_of_nodes(std::int64_t n) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(numbered("node-", static_cast<std::uint64_t>(i * 7919 % n)));
  return out;
}

/// Inserts distinct texts into an empty table.
template <class Symbols>
void BM_InternTexts(benchmark::State& state) {
  const auto texts = names_of_nodes(state.range(0));
  for (auto _ : state) {
    Symbols symbols;
    std::uint32_t last = 0;
    for (const std::string& text : texts) last = symbols.intern(text);
    benchmark::DoNotOptimize(last);
    if (symbols.find(texts.back()) != last || symbols.intern(texts.back()) != last)
      return wrong_answer(state, "a text has another symbol the second time");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_TEMPLATE(BM_InternTexts, tables::SymbolTable)->ArgName("texts")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_InternTexts, StdSymbols)->ArgName("texts")->ArgsProduct({sizes()});

struct SetOfNames {
  std::set<std::uint32_t> used;
  std::uint32_t count;
  SetOfNames(std::span<const std::uint32_t> taken, std::uint32_t n) : used(taken.begin(), taken.end()), count(n) {}
  std::vector<std::uint32_t> next(std::size_t n) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < count && out.size() < n; ++i)
      if (used.insert(i).second) out.push_back(i);
    return out;
  }
};

/// A service with every second name free: assigns the free ones.
template <class Names>
void BM_FreeNames(benchmark::State& state) {
  const auto n = static_cast<std::uint32_t>(state.range(0));
  std::vector<std::uint32_t> used, expected;
  for (std::uint32_t i = 0; i < n; ++i) (i % 2 == 0 ? used : expected).push_back(i);
  if (Names(used, n).next(expected.size()) != expected) return wrong_answer(state, "not the free names");
  for (auto _ : state) benchmark::DoNotOptimize(Names(used, n).next(expected.size()).data());
  state.SetItemsProcessed(state.iterations() * state.range(0) / 2);
}
BENCHMARK_TEMPLATE(BM_FreeNames, reconcile::NameIndex)->ArgName("count")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_FreeNames, SetOfNames)->ArgName("count")->ArgsProduct({sizes()});

/// Stores all values, and sorts as far as needed.
struct KeptValues {
  std::vector<std::int64_t> values;
  void record(std::int64_t value) { values.push_back(value); }
  std::int64_t percentile(double percent) {
    const auto rank = static_cast<std::size_t>(percent / 100 * static_cast<double>(values.size()) + 0.999999) - 1;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  }
};

/// Records latencies and computes p99 at the end.
template <class Latencies>
void BM_Percentiles(benchmark::State& state) {
  std::mt19937_64 random(12);
  std::vector<std::int64_t> values(static_cast<std::size_t>(state.range(0)));
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() >> (40 + random() % 16));
  Latencies latencies;
  for (const std::int64_t value : values) latencies.record(value);
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto exact = static_cast<double>(sorted[sorted.size() * 99 / 100 - 1]);
  const auto told = static_cast<double>(latencies.percentile(99));
  if (told < exact || told > exact * 1025 / 1024 + 1) return wrong_answer(state, "p99 is off by more than it may be");
  for (auto _ : state) {
    latencies = {};
    for (const std::int64_t value : values) latencies.record(value);
    benchmark::DoNotOptimize(latencies.percentile(99));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_TEMPLATE(BM_Percentiles, sim::Histogram)->ArgName("values")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_Percentiles, KeptValues)->ArgName("values")->ArgsProduct({sizes()});

}  // namespace
}  // namespace berth::micro
