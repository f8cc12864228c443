#include "http/events/event_log.h"

#include <algorithm>

#include "base/text.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/volumes.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "tables/export.h"

namespace berth::http {

namespace {

using fsm::EntryKind;
using tables::kNoRow;

/// Maximum bytes sent at once to a new reader; with more it would count as too slow.
constexpr std::size_t kFirstBytes = 2 << 20;

const char* type_of(EntryKind kind) {  // R-API-586
  switch (kind) {
    case EntryKind::job_register:
      return "JobRegistered";
    case EntryKind::job_deregister:
      return "JobDeregistered";
    case EntryKind::job_batch_deregister:
      return "JobBatchDeregistered";
    case EntryKind::eval_update:
      return "EvaluationUpdated";
    case EntryKind::plan:
      return "PlanResult";
    case EntryKind::client_update:
      return "AllocationUpdated";
    case EntryKind::transition:
      return "AllocationUpdateDesiredStatus";
    case EntryKind::deployment_status:
      return "DeploymentStatusUpdate";
    case EntryKind::deployment_promotion:
      return "DeploymentPromotion";
    case EntryKind::deployment_health:
      return "DeploymentAllocHealth";
    case EntryKind::node_register:
      return "NodeRegistration";
    case EntryKind::node_deregister:
      return "NodeDeregistration";
    case EntryKind::node_status:
      return "NodeStreamEvent";
    case EntryKind::node_eligibility:
      return "NodeEligibility";
    case EntryKind::node_drain:
      return "NodeDrain";
    case EntryKind::pool_upsert:
      return "NodePoolUpserted";
    case EntryKind::pool_delete:
      return "NodePoolDeleted";
    case EntryKind::silent:
    case EntryKind::part:
      break;
  }
  return "";
}

template <class Row>
std::vector<Row> once(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

json::Value object_json(const StreamEvent& event) {
  return std::visit(
      []<class T>(const T& object) -> json::Value {
        if constexpr (std::is_same_v<T, std::shared_ptr<const model::Allocation>>)
          return alloc_json(*object);
        else if constexpr (std::is_same_v<T, std::shared_ptr<const model::Node>>)
          return node_json(*object);
        else if constexpr (std::is_same_v<T, std::shared_ptr<const model::Evaluation>>)
          return eval_json(*object);
        else if constexpr (std::is_same_v<T, model::NodePool>)
          return node_pool_json(object);
        else if constexpr (std::is_same_v<T, std::shared_ptr<const model::Job>>)
          return job_json(*object);
        else if constexpr (std::is_same_v<T, std::shared_ptr<const json::Value>>)
          return *object;
        else
          return model::to_json(*object);
      },
      event.object);
}

const transport::TextRef& text_of(const StreamFrame& frame, const StreamEvent& event) {
  if (event.text) return event.text;
  json::Value out = json::Value::object(), keys, payload = json::Value::object();
  for (const std::string& key : event.filter_keys) keys.push(key);
  if (std::holds_alternative<std::shared_ptr<const json::Value>>(event.object))
    payload = object_json(event);
  else
    payload.set(event.topic, object_json(event));
  if (event.deleted && std::string_view(event.topic) == "Job") payload.set("Deleted", true);
  out.set("Topic", event.topic), out.set("Type", frame.type), out.set("Key", event.key);
  out.set("Namespace", event.name_space), out.set("FilterKeys", std::move(keys)), out.set("Index", frame.index);
  out.set("Payload", std::move(payload));
  return event.text = std::make_shared<const transport::SharedText>(json::to_text(out));
}

StreamEvent job_event(std::shared_ptr<const model::Job> job, bool deleted) {
  StreamEvent out;
  out.topic = "Job", out.key = job->id, out.name_space = job->namespace_, out.deleted = deleted;
  out.object = std::move(job);
  return out;
}

StreamEvent node_event(std::shared_ptr<const model::Node> node, bool deleted) {
  StreamEvent out;
  out.topic = "Node", out.key = node->id, out.deleted = deleted;
  out.object = std::move(node);
  return out;
}

StreamEvent pool_event(const model::NodePool& pool, bool deleted) {
  StreamEvent out;
  out.topic = "NodePool", out.key = pool.name, out.deleted = deleted;
  out.object = pool;
  return out;
}

}  // namespace

// ---------------------------------------------------------------- topics

tl::expected<EventTopics, std::string> EventTopics::parse(const std::vector<std::string>& topics,
                                                          std::string name_space) {
  EventTopics out;
  out.name_space_ = std::move(name_space);
  if (topics.empty()) out.topics_["*"].insert("*");
  for (const std::string& topic : topics) {
    const auto parts = base::split(topic, ':');
    if (parts.size() > 2)
      return tl::unexpected("Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: " +
                            topic);
    out.topics_[std::string(parts[0])].insert(parts.size() == 2 ? std::string(parts[1]) : "*");
  }
  return out;
}

bool EventTopics::pass(const StreamEvent& event) const {
  if (!event.name_space.empty() && name_space_ != "*" && event.name_space != name_space_) return false;
  if (test_ && !test_(event)) return false;
  for (const std::string_view topic : {std::string_view(event.topic), std::string_view("*")}) {
    const auto keys = topics_.find(topic);
    if (keys == topics_.end()) continue;
    if (keys->second.contains("*") || keys->second.contains(event.key)) return true;
    for (const std::string& key : event.filter_keys)
      if (keys->second.contains(key)) return true;
  }
  return false;
}

// ---------------------------------------------------------------- frames

void EventLog::attach(fsm::StateLog& log) {
  log_ = &log;
  frames_.clear();
  log.set_entry_listener(this);
  begin_with_nodes();
}

void EventLog::begin_with_nodes() {
  const tables::Snapshot& state = log_->store().current();
  if (state.jobs.keys.size() > 0 || state.evals.size() > 0) return;
  std::vector<tables::NodeRow> rows;
  for (tables::NodeRow row = 0; row < state.nodes.size(); ++row)
    if (state.nodes.exists(row)) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](auto a, auto b) { return log_->node_modify_index(a) > log_->node_modify_index(b); });
  rows.resize(std::min(rows.size(), kFrames));
  std::vector<StreamFrame> frames;
  for (const tables::NodeRow row : rows) {
    auto ready = std::make_shared<const model::Node>(*log_->node(base::to_text(state.nodes.id(row))));
    auto first = std::make_shared<model::Node>(*ready);
    first->status = "initializing", first->modify_index = first->create_index;
    StreamFrame frame{first->create_index, type_of(EntryKind::node_register), {}};
    for (const model::NodePool& pool : state.cold->node_pools)
      if (pool.name == first->node_pool && pool.create_index == first->create_index)
        frame.events.push_back(pool_event(pool, false));
    frame.events.push_back(node_event(std::move(first), false));
    frames.push_back(std::move(frame));
    if (ready->status != "ready") continue;
    frames.push_back({ready->modify_index, type_of(EntryKind::node_status), {node_event(std::move(ready), false)}});
  }
  std::stable_sort(frames.begin(), frames.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  for (StreamFrame& frame : frames) add(std::move(frame));
}

void EventLog::entry_applied(EntryKind kind, std::uint64_t index, const fsm::EntryRows& rows) {
  StreamFrame frame{index, type_of(kind), {}};
  take_jobs(rows, frame);
  if (kind == EntryKind::job_register || kind == EntryKind::job_deregister) {  // an event in two parts (R-API-582)
    add(std::move(frame));
    frame = {index, type_of(kind), {}};
  }
  take_rest(rows, frame);
  take_pools(rows, frame);
  if (!readers_.empty() || frame.late_allocs.size() + frame.late_nodes.size() <= kKept) make_late(frame);
  add(std::move(frame));
}

void EventLog::store_written(std::uint64_t index, const char* type, std::vector<StoreEvent> events) {
  StreamFrame frame{index, type, {}, {}, {}};
  for (StoreEvent& written : events) {
    StreamEvent& event = frame.events.emplace_back();
    event.topic = written.topic, event.key = std::move(written.key), event.name_space = std::move(written.name_space);
    event.filter_keys = std::move(written.filter_keys);
    event.object = std::make_shared<const json::Value>(std::move(written.payload));
  }
  add(std::move(frame));
}

void EventLog::take_jobs(const fsm::EntryRows& rows, StreamFrame& frame) const {
  for (const auto& job : rows.deleted_jobs) frame.events.push_back(job_event(job, true));
  for (const tables::JobKeyRow key : once(rows.jobs))
    if (const fsm::JobRecord* record = log_->record(key); record && record->current)
      frame.events.push_back(job_event(record->current, false));
}

void EventLog::take_rest(const fsm::EntryRows& rows, StreamFrame& frame) const {
  const tables::Snapshot& state = log_->store().current();
  for (const tables::AllocRow row : once(rows.allocs))
    if (state.allocs.exists(row)) frame.late_allocs.emplace_back(state.allocs.id[row], row);
  for (const auto& node : rows.deleted_nodes) frame.events.push_back(node_event(node, true));
  for (const tables::NodeRow row : once(rows.nodes))
    if (state.nodes.exists(row)) frame.late_nodes.emplace_back(state.nodes.id(row), row);
  for (const tables::NodeRow row : once(rows.nodes)) take_volumes(row, frame);
  for (const tables::StoredEvalRow row : once(rows.evals)) {
    const auto eval = row == kNoRow ? nullptr : state.eval(row);
    if (!eval) continue;
    StreamEvent& event = frame.events.emplace_back();
    event.topic = "Evaluation", event.key = eval->id, event.name_space = eval->namespace_;
    event.filter_keys = {eval->job_id, eval->deployment_id};
    event.object = eval;
  }
  for (const tables::DeploymentRow row : once(rows.deployments)) {
    const auto& deployment = row == kNoRow ? nullptr : state.deployments.object[row];
    if (!deployment) continue;
    StreamEvent& event = frame.events.emplace_back();
    event.topic = "Deployment", event.key = deployment->id, event.name_space = deployment->namespace_;
    event.filter_keys = {deployment->job_id};
    event.object = deployment;
  }
}

/// Adds events for volumes of the node whose state this entry changed (R-STORE-217).
void EventLog::take_volumes(tables::NodeRow row, StreamFrame& frame) const {
  const tables::Snapshot& state = log_->store().current();
  if (state.cold->host_volumes.empty() || !state.nodes.exists(row)) return;
  const std::string node = tables::node_id(state, row);
  for (const model::HostVolume& volume : state.cold->host_volumes) {
    if (volume.node_id != node || volume.modify_index != frame.index) continue;
    json::Value payload = json::Value::object();
    payload.set("Volume", host_volume_json(volume));
    StreamEvent& event = frame.events.emplace_back();
    event.topic = "HostVolume", event.key = volume.id, event.name_space = volume.namespace_;
    event.filter_keys = {volume.id, volume.name, volume.plugin_id};
    event.object = std::make_shared<const json::Value>(std::move(payload));
  }
}

void EventLog::take_pools(const fsm::EntryRows& rows, StreamFrame& frame) const {
  for (const model::NodePool& pool : rows.deleted_pools) frame.events.push_back(pool_event(pool, true));
  for (const std::string& name : once(rows.pools))
    for (const model::NodePool& pool : log_->store().current().cold->node_pools)
      if (pool.name == name) frame.events.push_back(pool_event(pool, false));
}

void EventLog::make_late(StreamFrame& frame) const {
  const tables::Snapshot& state = log_->store().current();
  for (const auto& [id, row] : std::exchange(frame.late_allocs, {})) {
    if (!state.allocs.exists(row) || state.allocs.id[row] != id) continue;
    StreamEvent& event = frame.events.emplace_back();
    auto alloc = std::make_shared<model::Allocation>(log_->stored_alloc(row));
    alloc->job = nullptr;
    event.topic = "Allocation", event.key = alloc->id, event.name_space = alloc->namespace_;
    event.filter_keys = {alloc->job_id, alloc->deployment_id};
    event.object = std::shared_ptr<const model::Allocation>(std::move(alloc));
  }
  for (const auto& [id, row] : std::exchange(frame.late_nodes, {}))
    if (auto node = log_->node(base::to_text(id)))
      frame.events.push_back(node_event(std::make_shared<const model::Node>(std::move(*node)), false));
}

void EventLog::add(StreamFrame frame) {
  if (frame.events.empty() && frame.late_allocs.empty() && frame.late_nodes.empty()) return;
  frames_.push_back(std::move(frame));
  if (frames_.size() > kFrames) frames_.pop_front();
  std::erase_if(readers_, [&](Subscription& to) { return !to.reader(line(frames_.back(), to.topics)); });
  forget_texts();
}

void EventLog::forget_texts() {
  std::size_t bytes = 0;
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame)
    for (const StreamEvent& event : frame->events) {
      if (event.text) bytes += event.text->text().size();
      if (bytes > kTextBytes) event.text.reset();
    }
}

EventLog::Line EventLog::line(StreamFrame& frame, const EventTopics& topics) const {
  constexpr std::size_t kShared = 16 << 10;  // texts from this size on are shared, smaller ones copied
  make_late(frame);
  Line out;
  std::string text;
  bool any = false;
  const auto cut = [&] {
    if (!text.empty()) out.push_back(std::make_shared<const transport::SharedText>(std::exchange(text, "")));
  };
  for (const StreamEvent& event : frame.events) {
    if (!topics.pass(event)) continue;
    text += std::exchange(any, true) ? "," : "{\"Index\":" + std::to_string(frame.index) + ",\"Events\":[";
    const transport::TextRef& whole = text_of(frame, event);
    if (whole->text().size() < kShared) {
      text += whole->text();
    } else {
      cut();
      out.push_back(whole);
    }
  }
  if (any) text += "]}\n";
  cut();
  return out;
}

// ---------------------------------------------------------------- readers

void EventLog::subscribe(EventTopics topics, std::uint64_t index, Reader reader) {
  auto from = std::find_if(frames_.begin(), frames_.end(), [&](const auto& frame) { return frame.index >= index; });
  if (from == frames_.end() && from != frames_.begin()) --from;
  std::vector<Line> lines;
  std::size_t bytes = 0;
  for (auto at = frames_.end(); at != from && bytes < kFirstBytes;) {  // the newest ones, if not all can be sent
    lines.push_back(line(*--at, topics));
    for (const transport::TextRef& text : lines.back()) bytes += text->text().size();
  }
  Line first;
  for (auto next = lines.rbegin(); next != lines.rend(); ++next) first.insert(first.end(), next->begin(), next->end());
  if (first.empty() || reader(first)) readers_.push_back({std::move(topics), std::move(reader)});
}

}  // namespace berth::http
