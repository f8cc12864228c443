// Adapters from recorded vectors to berth: registration of jobs, change detection, annotations (FORMAT-components.md).
#include <re2/re2.h>

#include <array>
#include <span>

#include "conform/compare.h"
#include "conform/jobs_by_reference.h"
#include "conform/vector.h"
#include "model/codec/codec.h"
#include "model/registration/job_canonical.h"
#include "model/registration/register_job.h"
#include "model/update/diff_annotations.h"
#include "model/update/spec_changed.h"
#include "model/update/tasks_updated.h"

namespace berth::conform {
namespace {

Result<model::Job> read_job(const Field& value) {
  model::Job job;
  if (auto done = from_json(value, job); !done) return tl::unexpected(done.error());
  return job;
}

/// The recorded list names the entries of an unnamed nested list one by one.
void push_leaves(std::string_view text, json::Value& list) {
  static const re2::RE2 header("[0-9]+ errors? occurred:");
  re2::StringPiece rest(text);
  if (!re2::RE2::Consume(&rest, header)) return list.push(std::string(text));
  text.remove_prefix(text.size() - rest.size());
  while (text.ends_with('\n')) text.remove_suffix(1);
  constexpr std::string_view kBullet = "\n\t* ";
  for (std::size_t at = text.find(kBullet); at != std::string_view::npos;) {
    const std::size_t next = text.find(kBullet, at + kBullet.size());
    const std::size_t begin = at + kBullet.size();
    list.push(std::string(text.substr(begin, next == std::string_view::npos ? next : next - begin)));
    at = next;
  }
}

Outcome canonicalize(const Vector& v) {
  auto given = resolve_job(v.in["job"], v.path);
  if (!given) return Outcome::failed(given.error().line());
  auto job = read_job(*given);
  if (!job) return Outcome::failed(job.error().line());
  model::canonicalize(*job);
  json::Value expected = *given;
  apply_edits(expected, v.out["changes"]);
  return Outcome::from(compare(expected, model::to_json(*job, model::WriteMode::sparse), {.rule = "R-MODEL-240"}));
}

Outcome validate(const Vector& v) {
  auto given = resolve_job(v.in["job"], v.path);
  if (!given) return Outcome::failed(given.error().line());
  auto job = read_job(*given);
  if (!job) return Outcome::failed(job.error().line());
  const model::ErrorList errors = model::validate(*job, model::empty_containers(*given));
  json::Value expected, got;
  expected.set("valid", v.out["valid"]);
  got.set("valid", errors.empty());
  expected.set("errors", v.out["errors"]);
  json::Value& list = got.set("errors", json::Value::array());
  for (const std::string& text : errors.items()) push_leaves(text, list);
  return Outcome::from(compare(expected, got, {.rule = "R-MODEL-250"}));
}

Outcome registration(const Vector& v) {
  model::RegistrationRequest request;
  request.limits.vault = false;  // as on the server that was recorded
  auto done = model::register_job(v.in["job"], request);
  if (!done) return Outcome::failed(done.error().line());
  json::Value expected, got;
  if (const std::string& error = v.out["error"].as_string(); !error.empty()) {
    expected.set("rejected", true);
    got.set("rejected", !done->job);
    expected.set("error", error), got.set("error", done->error);
  } else if (!done->job) {
    return Outcome::failed("rejected: " + done->error);
  } else {
    expected = v.out;
    got.set("has_eval", done->creates_eval);
    got.set("warnings", model::warnings_text(done->warnings));
    got.set("job", model::to_json(*done->job, model::WriteMode::sparse));
    // Made up by the state store when the job is written: a random ID and the index.
    static_cast<void>(v.out["job"]["TaskGroups"].items());
    json::Value* const job = expected.find("job");
    json::Value* const groups = job ? job->find("TaskGroups") : nullptr;
    static json::Array none;
    for (json::Value& group : groups ? groups->items() : none)
      if (json::Value* scaling = group.find("Scaling"))
        for (const char* key : {"ID", "CreateIndex", "ModifyIndex"}) scaling->erase(key);
  }
  return Outcome::from(compare(expected, got, {.rule = "R-MODEL-220"}));
}

Outcome spec_changed(const Vector& v) {
  auto stored = resolve_job(v.in["stored"], v.path);
  if (!stored) return Outcome::failed(stored.error().line());
  json::Value submitted = *stored;
  apply_edits(submitted, v.in["submitted_edits"]);
  auto a = read_job(*stored), b = read_job(submitted);
  if (!a || !b) return Outcome::failed("a job that cannot be read");
  json::Value got;
  got.set("changed", model::spec_changed(*a, *b, model::empty_containers(*stored), model::empty_containers(submitted)));
  return Outcome::from(compare(v.out, got, {.rule = "R-MODEL-276"}));
}

Outcome tasks_updated(const Vector& v) {
  auto before = resolve_job(v.in["old"], v.path);
  if (!before) return Outcome::failed(before.error().line());
  json::Value after = *before;
  apply_edits(after, v.in["new_edits"]);
  auto a = read_job(*before), b = read_job(after);
  if (!a || !b) return Outcome::failed("a job that cannot be read");
  json::Value expected, got;
  expected.set("destructive", v.out["destructive"]);
  got.set("destructive", model::tasks_updated(*a, *b, v.in["group"].as_string()));
  return Outcome::from(compare(expected, got, {.rule = "R-SCHED-103"}));
}

Outcome annotate(const Vector& v) {
  std::map<std::string, model::DesiredUpdates> updates;
  for (const auto& entry : v.in["updates"].members())
    if (auto done = from_json(entry.value, updates[entry.key]); !done) return Outcome::failed(done.error().line());
  auto annotations = model::annotate_diff(v.in["diff"], updates);
  if (!annotations) return Outcome::failed(annotations.error().line());
  json::Value got;
  json::Value& groups = got.set("groups", json::Value::array());
  const auto list = [](const std::vector<std::string>& texts) {
    json::Value out = json::Value::array();
    for (const std::string& text : texts) out.push(text);
    return out;
  };
  for (const model::GroupAnnotations& group : *annotations) {
    json::Value entry;
    entry.set("group", group.group);
    json::Value& counts = entry.set("updates", json::Value::object());
    for (const auto& [name, count] : group.updates) counts.set(name, count);
    entry.set("count", list(group.count));
    json::Value& tasks = entry.set("tasks", json::Value::object());
    for (const auto& [task, texts] : group.tasks) tasks.set(task, list(texts));
    groups.push(std::move(entry));
  }
  return Outcome::from(compare(v.out, got, {.rule = "R-SCHED-197"}));
}

}  // namespace

std::span<const Component> jobs_components() {
  static constexpr std::array kAll = {
      Component{"job_canonicalize", canonicalize}, Component{"job_validate", validate},
      Component{"registration", registration},     Component{"spec_changed", spec_changed},
      Component{"tasks_updated", tasks_updated},   Component{"annotate", annotate},
  };
  return kAll;
}

}  // namespace berth::conform
