#include "conform/jobs_by_reference.h"

#include <filesystem>
#include <map>
#include <mutex>

#include "base/text.h"
#include "io/files.h"
#include "io/json_parse.h"

namespace berth::conform {
namespace {

std::string unescape(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      out += token[++i] == '1' ? '/' : '~';
    } else {
      out += token[i];
    }
  }
  return out;
}

void apply_edit(json::Value& target, std::string_view pointer, const json::Value& value) {
  json::Value* at = &target;
  auto tokens = base::split(pointer, '/');
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const std::string key = unescape(tokens[i]);
    const bool last = i + 1 == tokens.size();
    if (at->is_array()) {
      const auto index = base::parse_uint64(key).value_or(at->size());
      if (last && value.is_null()) {
        if (index < at->size()) at->items().erase(at->items().begin() + static_cast<std::ptrdiff_t>(index));
        return;
      }
      while (at->size() <= index) at->push(json::Value());
      at = &at->items()[index];
    } else {
      if (last && value.is_null()) {
        at->erase(key);
        return;
      }
      json::Value* next = at->find(key);
      at = next ? next : &at->set(key, json::Value());
    }
  }
  *at = value;
}

}  // namespace

void apply_edits(json::Value& target, const json::Value& edits) {
  for (const json::Member& edit : edits.members()) apply_edit(target, edit.key, edit.value);
}

Result<json::Value> resolve_job(const Field& job, const std::string& vector_path) {
  const auto base = job.find("base");
  if (!base || !base->is_string()) return job;
  static std::mutex mutex;
  static std::map<std::string, std::map<std::string, json::Value>> cache;
  const std::lock_guard lock(mutex);
  const std::filesystem::path folder = std::filesystem::path(vector_path).parent_path();
  std::string path = (folder / "job_bases.jsonl.gz").string();
  if (!std::filesystem::exists(path)) path = (folder / "job_bases.jsonl").string();
  if (!std::filesystem::exists(path)) path = (folder.parent_path() / "components" / "job_bases.jsonl.gz").string();
  auto& bases = cache[path];
  if (bases.empty()) {
    auto done = io::read_lines(path, [&](std::string_view line, std::size_t) {
      if (auto value = io::parse_json(line)) bases[(*value)["name"].as_string()] = (*value)["out"]["job"];
      return true;
    });
    if (!done) return tl::unexpected(done.error());
  }
  for (const auto& [name, value] : bases) {
    if (name != base->as_string() && !name.starts_with(base->as_string() + "#")) continue;
    json::Value copy = value;
    apply_edits(copy, job["edits"]);
    return copy;
  }
  return tl::unexpected(InputError{vector_path, "", "refers to the unknown job " + base->as_string(),
                                   "put job_bases.jsonl.gz next to the file"});
}

}  // namespace berth::conform
