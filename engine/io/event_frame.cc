#include "io/event_frame.h"

#include <algorithm>

#include "base/uuid.h"
#include "io/cluster_json.h"
#include "io/cluster_parts.h"
#include "model/computed_class.h"
#include "model/job.h"
#include "model/registration/node_canonical.h"

namespace berth::io {
namespace {

using model::ReadOptions;

/// The object of a payload: its member has the topic's name, or for volumes and plugins a shorter one.
constexpr std::string_view member_of(std::string_view topic) {
  if (topic == "HostVolume" || topic == "CSIVolume") return "Volume";
  if (topic == "CSIPlugin") return "Plugin";
  return topic;
}

tl::unexpected<InputError> no_frame(const ReadOptions& options, std::string problem) {
  return tl::unexpected(InputError{options.path, options.place, std::move(problem),
                                   "name a recording of berth record, or the body of /v1/event/stream"});
}

/// Reads an object that needs nothing but its ID checked and its secrets dropped.
template <class T>
Result<void> read_into(std::vector<T>& list, const json::Value& value, const ReadOptions& options) {
  T item;
  if (auto done = model::from_json(value, item, options); !done) return done;
  if constexpr (requires { take_id(item, options); })
    if (auto done = take_id(item, options); !done) return done;
  if constexpr (requires { drop_secrets(item); }) drop_secrets(item);
  list.push_back(std::move(item));
  return {};
}

Result<void> read_node(std::vector<model::Node>& list, const json::Value& value, const ReadOptions& options) {
  if (auto done = read_into(list, value, options); !done) return done;
  model::Node& node = list.back();
  model::canonicalize(node), model::canonicalize(node);  // twice, as complete_state() does
  if (auto done = model::check_node(node, options.path, options.place); !done) return list.pop_back(), done;
  if (node.computed_class.empty()) node.computed_class = model::computed_class(node);
  return {};
}

Result<void> read_job(model::JobTable& list, const json::Value& value, const ReadOptions& options) {
  auto job = read_stored_job(value, options);
  if (!job) return tl::unexpected(job.error());
  if ((*job)->id.empty()) return refuse_job_without_id(options.path, options.place);
  if (std::string problem = job_problem(**job); !problem.empty())
    return tl::unexpected(InputError{options.path, options.place, "a job that " + problem, "correct the value"});
  list.push_back(std::move(*job));
  return {};
}

Result<void> read_alloc(std::vector<model::Allocation>& list, const json::Value& value, const ReadOptions& options) {
  if (auto done = read_into(list, value, options); !done) return done;
  model::Allocation& alloc = list.back();
  alloc.job.reset();
  if (alloc.namespace_.empty()) alloc.namespace_ = "default";
  return {};
}

Result<void> read_eval(std::vector<model::Evaluation>& list, const json::Value& value, const ReadOptions& options) {
  if (auto done = read_into(list, value, options); !done) return done;
  if (is_priority(list.back().priority)) return {};
  list.pop_back();
  return tl::unexpected(InputError{options.path, options.place + "/Priority", "is out of range", "correct the value"});
}

Result<void> read_object(EventFrame& out, std::string_view topic, const json::Value& value,
                         const ReadOptions& options) {
  if (topic == "Job") return read_job(out.objects.jobs, value, options);
  if (topic == "Node") return read_node(out.objects.nodes, value, options);
  if (topic == "Allocation") return read_alloc(out.objects.allocs, value, options);
  if (topic == "Evaluation") return read_eval(out.objects.evals, value, options);
  if (topic == "Deployment") return read_into(out.objects.deployments, value, options);
  if (topic == "NodePool") return read_into(out.objects.node_pools, value, options);
  if (topic == "HostVolume") return read_into(out.objects.host_volumes, value, options);
  if (topic == "CSIVolume") return read_into(out.objects.csi_volumes, value, options);
  return read_into(out.objects.csi_plugins, value, options);
}

/// True if the event says that its object was deleted: a job says so itself, the others by their entry's type.
bool is_deletion(std::string_view topic, std::string_view type, const json::Value& payload) {
  if (topic == "Job") return payload["Deleted"].as_bool();
  return (topic == "Node" && type == "NodeDeregistration") || (topic == "NodePool" && type == "NodePoolDeleted");
}

class Writer {
 public:
  explicit Writer(const EventFrame& frame) : frame_(frame) {}

  template <class T>
  void add(const char* topic, const std::vector<T>& list) {
    for (const T& object : list) {
      json::Value& payload = begin(topic, key_of(object), space_of(object));
      payload.set(member_of(topic), model::to_json(object, model::WriteMode::sparse));
    }
  }
  void add(const model::JobTable& jobs) {
    for (const auto& job : jobs) begin("Job", job->id, job->namespace_).set("Job", write_registered_job(*job));
  }
  void add(const EventFrame::Gone& gone) {
    json::Value object = json::Value::object();
    object.set(gone.topic == "NodePool" ? "Name" : "ID", gone.key);
    if (!gone.name_space.empty()) object.set("Namespace", gone.name_space);
    json::Value& payload = begin(gone.topic, gone.key, gone.name_space);
    payload.set(gone.topic, std::move(object));
    if (gone.topic == "Job") payload.set("Deleted", true);
  }
  [[nodiscard]] json::Value take() { return std::move(events_); }

 private:
  template <class T>
  static const std::string& key_of(const T& object) {
    if constexpr (requires { object.id; })
      return object.id;
    else
      return object.name;
  }
  template <class T>
  static std::string space_of(const T& object) {
    if constexpr (requires { object.namespace_; })
      return object.namespace_;
    else
      return "";
  }
  json::Value& begin(const std::string& topic, const std::string& key, const std::string& name_space) {
    events_.push(json::Value::object());
    json::Value& event = events_.items().back();
    event.set("Topic", topic), event.set("Type", frame_.type), event.set("Key", key);
    event.set("Namespace", name_space), event.set("Index", frame_.index);
    return event.set("Payload", json::Value::object());
  }

  const EventFrame& frame_;
  json::Value events_ = json::Value::array();
};

}  // namespace

const std::vector<std::string>& event_topics() {
  static const std::vector<std::string> kTopics = {"Evaluation", "Allocation", "Deployment", "Job",      "Node",
                                                   "NodePool",   "HostVolume", "CSIVolume",  "CSIPlugin"};
  return kTopics;
}

Result<EventFrame> read_event_frame(const json::Value& frame, const std::string& path, const std::string& place,
                                    std::vector<InputError>& faults) {
  ReadOptions options;
  options.path = path, options.place = place;
  if (!frame.is_object()) return no_frame(options, std::string("expected a frame, got ") + frame.kind());
  if (!frame["Index"].is_int() || !frame["Events"].is_array())
    return no_frame(options, "is no frame: it has no Index or no Events");
  EventFrame out;
  out.index = out.objects.index = frame["Index"].as_uint();
  const json::Array& events = frame["Events"].items();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const json::Value& event = events[i];
    const std::string& topic = event["Topic"].as_string();
    const auto& known = event_topics();
    if (std::find(known.begin(), known.end(), topic) == known.end()) continue;
    const std::string& type = event["Type"].as_string();
    if (out.type.empty()) out.type = type;
    if (is_deletion(topic, type, event["Payload"])) {
      out.gone.push_back({topic, event["Namespace"].as_string(), event["Key"].as_string()});
      continue;
    }
    options.place = place + "/Events/" + std::to_string(i) + "/Payload/" + std::string(member_of(topic));
    const json::Value& object = event["Payload"][member_of(topic)];
    if (!object.is_object()) {
      faults.push_back({path, options.place, std::string("expected an object, got ") + object.kind(), ""});
      continue;
    }
    if (auto done = read_object(out, topic, object, options); !done) faults.push_back(done.error());
  }
  Warnings ignored;  // references that are no UUIDs refer to nothing
  take_references(out.objects, ignored);
  return out;
}

json::Value to_json(const EventFrame& frame) {
  Writer events(frame);
  events.add("Evaluation", frame.objects.evals);
  events.add("Allocation", frame.objects.allocs);
  events.add("Deployment", frame.objects.deployments);
  events.add(frame.objects.jobs);
  events.add("Node", frame.objects.nodes);
  events.add("NodePool", frame.objects.node_pools);
  events.add("HostVolume", frame.objects.host_volumes);
  events.add("CSIVolume", frame.objects.csi_volumes);
  events.add("CSIPlugin", frame.objects.csi_plugins);
  for (const EventFrame::Gone& gone : frame.gone) events.add(gone);
  json::Value out = json::Value::object();
  out.set("Index", frame.index), out.set("Events", events.take());
  return out;
}

}  // namespace berth::io
