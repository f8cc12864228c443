#include "compare/kept_runs.h"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <unordered_map>

#include "base/build_info.h"
#include "base/sha256.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "sim/datasets.h"
#include "store/run_store.h"

namespace berth::compare {

struct KeptRuns::Stored {
  explicit Stored(store::RunStore opened) : file(std::move(opened)) {}
  store::RunStore file;
  std::unordered_map<std::string, std::string> before;  // details of finished runs by key
  std::mutex mutex;                                     // guards `file`
};

namespace {

/// Checksum of a run without the checksum itself.
std::string sum_of(const json::Value& run) {
  base::Sha256 digest;
  digest.add(json::to_text(run));
  return digest.hex().substr(0, 32);
}

}  // namespace

Result<KeptRuns> KeptRuns::open(const sim::Workload& workload, const std::string& text, const std::string& file) {
  KeptRuns out;
  if (file.empty()) return out;
  auto opened = store::RunStore::open(file, {});
  if (!opened) return tl::unexpected(opened.error());
  auto records = opened->records(store::RunKind::comparison);
  if (!records) return tl::unexpected(records.error());
  out.stored_ = std::make_shared<Stored>(std::move(*opened));
  for (store::Record& record : *records) out.stored_->before.emplace(record.key, std::move(record.detail));
  base::Sha256 digest;
  digest.add(fmt::format("{}\n{}\n{}\n", base::build_info().commit, workload.label, text.size()));
  digest.add(text);
  for (const std::string& data : sim::files_of(workload))
    if (const auto content = io::read_file(data); data != workload.path && content)
      digest.add(fmt::format("{}\n{}", content->size(), *content));
  out.source_ = digest.hex(), out.workload_ = workload.name, out.label_ = workload.label;
  return out;
}

std::string KeptRuns::key_of(const std::string& what, std::int64_t seed) const {
  base::Sha256 digest;
  digest.add(fmt::format("{}\n{}\n{}\n", source_, what, seed));
  return digest.hex().substr(0, 32);
}

std::optional<json::Value> KeptRuns::find(const std::string& what, std::int64_t seed) const {
  if (!stored_) return std::nullopt;
  const auto found = stored_->before.find(key_of(what, seed));
  if (found == stored_->before.end()) return std::nullopt;
  auto value = io::parse_json(found->second, "a stored run");
  if (!value) return std::nullopt;
  const std::string sum = (*value)["sum"].as_string();
  value->erase("sum");
  if (sum_of(*value) != sum) return std::nullopt;
  return std::move(*value);
}

Result<void> KeptRuns::keep(const std::string& what, std::int64_t seed, const json::Value& run) const {
  if (!stored_) return {};
  json::Value detail = run;
  detail.set("sum", sum_of(run));
  store::Record record;
  record.kind = store::RunKind::comparison, record.key = key_of(what, seed), record.status = "ok";
  record.workload = workload_, record.label = label_;
  record.changes = {{"comparison", what}, {"seed", std::to_string(seed)}};
  record.digest = run["digest"].as_string(), record.commit = base::build_info().commit;
  record.started = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  record.detail = json::to_text(detail);
  const std::lock_guard lock(stored_->mutex);
  if (const auto added = stored_->file.add(std::span(&record, 1)); !added) return tl::unexpected(added.error());
  return {};
}

std::string resumed_words(std::size_t resumed, std::size_t runs) {
  return resumed > 0 ? fmt::format("{} of {} runs were finished before\n", resumed, runs) : "";
}

std::optional<std::uint64_t> count_in(const json::Value& object, const char* key) {
  const json::Value* const one = object.find(key);
  if (!one || !one->is_number() || one->as_double() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(one->as_double());
}

}  // namespace berth::compare
