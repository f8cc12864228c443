#include "advice/trial.h"

#include <algorithm>

#include "advice/place.h"
#include "model/job.h"

namespace berth::advice {
namespace {

/// Limit of job parts in the tables, about 1 KiB each, after which the cluster is loaded again.
constexpr std::size_t kPartsKept = 100'000;

/// Number of groups, tasks and list entries of a job.
std::size_t parts_of(const model::Job& job) {
  std::size_t out = job.constraints.size() + job.affinities.size() + job.spreads.size() + job.datacenters.size();
  for (const model::TaskGroup& group : job.task_groups.list()) {
    out += 4 + group.constraints.size() + group.affinities.size() + group.spreads.size() + group.volumes.size();
    for (const model::NetworkResource& network : group.networks)
      out += 1 + network.reserved_ports.size() + network.dynamic_ports.size();
    for (const model::Task& task : group.tasks)
      out += 4 + task.constraints.size() + task.affinities.size() + task.templates.size() + task.services.size();
  }
  return out;
}

}  // namespace

server::DryRun& Loaded::about(const model::Registration& registration, const std::vector<std::string>& passed_over,
                              const std::optional<model::SchedulerConfiguration>& config) {
  if (kept_ > kPartsKept) dry_run_.reset();
  if (dry_run_) {
    dry_run_->unrestrict();
    dry_run_->instead(registration);
  } else {
    dry_run_.emplace(question_.state, registration, question_.now_ns, question_.strategy);
    config_.reset(), kept_ = 0;
  }
  kept_ += add_work(*registration.job);
  if (config != config_) dry_run_->configure(config), config_ = config;
  dry_run_->pass_over(passed_over);
  return *dry_run_;
}

std::size_t Loaded::add_work(const model::Job& job) {
  const std::size_t parts = parts_of(job);
  work_ += parts;
  return parts;
}

Trial::Trial(Loaded& loaded, const model::Registration& registration, std::string group, std::vector<std::string> idle)
    : loaded_(loaded), base_(registration), group_(std::move(group)), idle_(std::move(idle)) {
  const Place groups = job_place(loaded.question().document).at("TaskGroups");
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups.at(i).text("Name") == group_) place_ = groups.at(i).pointer;
  if (place_.empty()) return;
  json::Value remaining = json::Value::array();
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups.at(i).pointer == place_) remaining.push(*groups.at(i).value);
  json::Value operation = json::Value::object();
  operation.set("op", "add"), operation.set("path", groups.pointer), operation.set("value", std::move(remaining));
  json::Value patch = json::Value::array();
  patch.push(std::move(operation));
  own_ = patched(loaded.question().document, patch);
  own_place_ = groups.pointer + "/0";
  // Another group may affect this one, as providers of secrets do (R-MODEL-245). Then groups are never skipped.
  const auto alone = read(own_);
  if (!alone || *alone->job->group(group_) != *base_.job->group(group_)) own_ = {};
}

std::optional<model::Registration> Trial::read(const json::Value& document) const {
  const Question& question = loaded_.question();
  if (document.is_null()) return std::nullopt;
  auto done = read_job(question.state, document, question.path, question.name_space, question.options);
  if (!done || !done->job || !done->job->group(group_)) return std::nullopt;
  loaded_.add_work(*done->job);
  return std::move(*done);
}

/// The patch for the file with this group alone; nullopt if it edits more than the group.
std::optional<json::Value> Trial::own_patch(const json::Value& patch) const {
  if (own_.is_null()) return std::nullopt;
  json::Value out = json::Value::array();
  for (const json::Value& operation : patch.items()) {
    const std::string& path = operation["path"].as_string();
    if (!path.starts_with(place_ + "/")) return std::nullopt;
    json::Value moved = operation;
    moved.set("path", own_place_ + path.substr(place_.size()));
    out.push(std::move(moved));
  }
  return out;
}

std::optional<model::Registration> Trial::registration(const json::Value& patch) const {
  const auto own = own_patch(patch);
  if (!own || whole_) return read(patched(loaded_.question().document, patch));
  const auto alone = read(patched(own_, *own));
  if (!alone) return std::nullopt;
  model::Registration out = base_;
  auto job = std::make_shared<model::Job>(*base_.job);
  for (model::TaskGroup& group : job->task_groups)
    if (group.name == group_) group = *alone->job->group(group_);
  out.job = std::move(job);
  return out;
}

bool Trial::placed(const server::DryRunAnswer& answer) const {
  if (!answer.error.empty() || answer.failed.contains(group_)) return false;
  return std::none_of(answer.refusals.begin(), answer.refusals.end(), [&](const server::Refusal& refusal) {
    const auto node = answer.plan.node_allocation.find(refusal.node_id);
    return node != answer.plan.node_allocation.end() &&
           std::any_of(node->second.begin(), node->second.end(),
                       [&](const model::Allocation& alloc) { return alloc.task_group == group_; });
  });
}

server::DryRun& Trial::about(const model::Registration& registration, const std::vector<std::string>& passed_over) {
  server::DryRun& out = loaded_.about(registration, passed_over);
  for (const std::string& node : ready_) static_cast<void>(out.suppose_ready(node));
  return out;
}

bool Trial::fits(const json::Value& patch) {
  const auto edited = registration(patch);
  if (!edited) return false;
  const bool leaves_out = !whole_ && !idle_.empty() && own_patch(patch);
  return placed(about(*edited, leaves_out ? idle_ : std::vector<std::string>()).decide(loaded_.question().order));
}

bool Trial::fits_as_a_whole(const json::Value& patch) {
  const auto edited = read(patched(loaded_.question().document, patch));
  return edited && placed(about(*edited).answer(loaded_.question().order));
}

bool Trial::fits_with(const model::SchedulerConfiguration& config) {
  return placed(loaded_.about(base_, {}, config).answer(loaded_.question().order));
}

}  // namespace berth::advice
