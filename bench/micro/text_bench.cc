// Input and output: JSON, UUIDs, digests. One item is one JSON value, one UUID, one digest.
#include <cinttypes>
#include <cstdio>

#include "base/json.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include "io/json_parse.h"
#include "micro/micro.h"

namespace berth::micro {
namespace {

/// A list of objects as in reports.
json::Value rows_as_json(std::int64_t n) {
  json::Value out = json::Value::array();
  for (std::int64_t i = 0; i < n; ++i) {
    json::Value row = json::Value::object();
    row.set("node", numbered("node-", static_cast<std::uint64_t>(i)));
    row.set("cpu_mhz", i * 7);
    row.set("share", static_cast<double>(i) / 7);
    row.set("ready", i % 3 != 0);
    out.push(std::move(row));
  }
  return out;
}

void BM_JsonWrite(benchmark::State& state) {
  const json::Value value = rows_as_json(state.range(0));
  const std::string text = json::to_text(value);
  if (const auto again = io::parse_json(text, "written"); !again || *again != value)
    return wrong_answer(state, "reads as another value");
  for (auto _ : state) benchmark::DoNotOptimize(json::to_text(value).data());
  state.SetItemsProcessed(state.iterations() * state.range(0) * 5);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_JsonWrite)->ArgName("rows")->ArgsProduct({sizes(100'000)});

/// Parses to values that can be searched, changed and compared; simdjson does the reading.
void BM_JsonRead(benchmark::State& state) {
  const json::Value value = rows_as_json(state.range(0));
  const std::string text = json::to_text(value);
  for (auto _ : state) benchmark::DoNotOptimize(io::parse_json(text, "text")->size());
  state.SetItemsProcessed(state.iterations() * state.range(0) * 5);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_JsonRead)->ArgName("rows")->ArgsProduct({sizes(100'000)});

std::vector<base::Uuid> uuids(std::int64_t n) {
  std::vector<base::Uuid> out;
  for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(n); ++i)
    out.push_back({i * 0xd6e8feb86659fd93ULL, i * 0xa0761d6478bd642fULL});
  return out;
}
struct OwnUuidText {
  static std::string text(base::Uuid id) { return base::to_text(id); }
  static base::Uuid parse(const std::string& text) { return *base::parse_uuid(text); }
};
struct LibraryUuidText {
  static std::string text(base::Uuid id) {
    char out[37];
    std::snprintf(out, sizeof out, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64, id.hi >> 32,
                  id.hi >> 16 & 0xffff, id.hi & 0xffff, id.lo >> 48, id.lo & 0xffffffffffff);
    return out;
  }
  static base::Uuid parse(const std::string& text) {
    std::uint64_t a = 0, b = 0, c = 0, d = 0, e = 0;
    static_cast<void>(std::sscanf(text.c_str(), "%8" SCNx64 "-%4" SCNx64 "-%4" SCNx64 "-%4" SCNx64 "-%12" SCNx64, &a,
                                  &b, &c, &d, &e));
    return {a << 32 | b << 16 | c, d << 48 | e};
  }
};

/// To text and back.
template <class Text>
void BM_UuidText(benchmark::State& state) {
  const auto ids = uuids(state.range(0));
  for (const base::Uuid id : ids)
    if (Text::text(id) != base::to_text(id) || Text::parse(Text::text(id)) != id)
      return wrong_answer(state, "another ID comes back");
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (const base::Uuid id : ids) sum += Text::parse(Text::text(id)).lo;
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 36);
}
BENCHMARK_TEMPLATE(BM_UuidText, OwnUuidText)->ArgName("ids")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_UuidText, LibraryUuidText)->ArgName("ids")->ArgsProduct({sizes()});

void BM_Sha256(benchmark::State& state) {
  const std::string text(static_cast<std::size_t>(state.range(0)), 'x');
  const auto digest = [&](std::string_view of) {
    base::Sha256 sha;
    sha.add(of);
    return sha.hex();
  };
  if (digest("abc") != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    return wrong_answer(state, "differs from FIPS 180-4's example");
  for (auto _ : state) benchmark::DoNotOptimize(digest(text).data());
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Sha256)->ArgName("bytes")->ArgsProduct({sizes()});

}  // namespace
}  // namespace berth::micro
