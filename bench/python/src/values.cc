// Python classes Job, Plan and View. Results are arrays over the columns of a View or a Plan.
#include <algorithm>
#include <cstring>

#include "berth/cluster.h"
#include "module.h"

namespace berth::python {

namespace {

/// UTF-8 as the 4-byte characters of a NumPy text field of `width` characters.
void write_text(char* to, std::size_t width, const std::string& from) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < from.size() && at < width;) {
    const auto lead = static_cast<unsigned char>(from[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    std::uint32_t c = length == 1 ? lead : lead & (0x7fu >> length);
    for (std::size_t k = 1; k < length && i + k < from.size(); ++k)
      c = c << 6 | (static_cast<unsigned char>(from[i + k]) & 0x3fu);
    std::memcpy(to + 4 * at++, &c, 4);
    i += length;
  }
  std::memset(to + 4 * at, 0, 4 * (width - at));
}

/// Placements of a plan as a structured array, one row each; text fields are as wide as the longest text.
py::array placements_of(const Plan& plan) {
  std::size_t name = 1, group = 1, node = 1;
  for (const Placement& p : plan.placements) {
    name = std::max(name, p.name.size()), group = std::max(group, p.task_group.size());
    node = std::max(node, p.node_name.size());
  }
  const std::pair<const char*, std::size_t> texts[] = {
      {"alloc_id", 36}, {"name", name}, {"task_group", group}, {"node_id", 36}, {"node_name", node}};
  py::list fields;
  for (const auto& [field, width] : texts) fields.append(py::make_tuple(field, "U" + std::to_string(width)));
  fields.append(py::make_tuple("score", "f8"));
  for (const char* field : {"nodes_evaluated", "nodes_filtered", "nodes_exhausted"})
    fields.append(py::make_tuple(field, "i8"));
  const py::dtype record = py::dtype::from_args(fields);
  py::array out(record, py::array::ShapeContainer{static_cast<py::ssize_t>(plan.placements.size())});
  char* to = static_cast<char*>(out.mutable_data());
  for (const Placement& p : plan.placements) {
    const std::string* const values[] = {&p.alloc_id, &p.name, &p.task_group, &p.node_id, &p.node_name};
    for (std::size_t i = 0; i < std::size(texts); ++i) {
      write_text(to, texts[i].second, *values[i]);
      to += 4 * texts[i].second;
    }
    std::memcpy(to, &p.score, 8), to += 8;
    for (const std::int64_t count : {p.metrics.nodes_evaluated, p.metrics.nodes_filtered, p.metrics.nodes_exhausted})
      std::memcpy(to, &count, 8), to += 8;
  }
  return out;
}

py::list failures_of(const Plan& plan) {
  py::list out;
  for (const berth::Failure& failure : plan.failures) {
    py::dict one;
    one["task_group"] = failure.task_group;
    one["count"] = failure.count;
    one["reasons"] = failure.reasons;
    one["nodes_evaluated"] = failure.metrics.nodes_evaluated;
    one["filtered_by"] = failure.metrics.filtered_by;
    one["exhausted_by"] = failure.metrics.exhausted_by;
    out.append(one);
  }
  return out;
}

py::list stops_of(const Plan& plan) {
  py::list out;
  for (const Stop& stop : plan.stops) {
    py::dict one;
    one["alloc_id"] = stop.alloc_id, one["name"] = stop.alloc_name, one["job_id"] = stop.job_id;
    one["node_id"] = stop.node_id, one["preempted"] = stop.preempted, one["reason"] = stop.reason;
    out.append(one);
  }
  return out;
}

/// IDs as 16 bytes each; converted to text in Python when needed.
py::array ids(const std::vector<IdBytes>& values, const py::object& owner) {
  py::array out(py::dtype("V16"), {values.size()}, {sizeof(IdBytes)}, values.data(), owner);
  out.attr("setflags")(py::arg("write") = false);
  return out;
}

/// The columns of a View, owned by the handle that arrays refer to. They are copied from the state, whose rows are
/// structs of several fields in shared chunks of 256, in order of creation, with holes.
py::dict node_columns(const View& view) {
  auto kept = std::make_unique<NodeColumns>(view.node_columns());
  const NodeColumns& n = *kept;
  const py::capsule owner(kept.release(), [](void* p) { delete static_cast<NodeColumns*>(p); });
  py::dict out;
  out["id"] = ids(n.id, owner);
  out["name"] = n.name;
  out["words"] = n.words;
  out["datacenter"] = column(n.datacenter, owner), out["pool"] = column(n.pool, owner);
  out["node_class"] = column(n.node_class, owner), out["status"] = column(n.status, owner);
  out["eligible"] = column(n.eligible, owner), out["draining"] = column(n.draining, owner);
  out["allocs"] = column(n.allocs, owner);
  out["cpu_usable_mhz"] = column(n.cpu_usable_mhz, owner), out["cpu_used_mhz"] = column(n.cpu_used_mhz, owner);
  out["memory_usable_mb"] = column(n.memory_usable_mb, owner);
  out["memory_used_mb"] = column(n.memory_used_mb, owner);
  out["disk_usable_mb"] = column(n.disk_usable_mb, owner), out["disk_used_mb"] = column(n.disk_used_mb, owner);
  return out;
}

py::dict alloc_columns(const View& view) {
  auto kept = std::make_unique<AllocColumns>(view.alloc_columns());
  const AllocColumns& a = *kept;
  const py::capsule owner(kept.release(), [](void* p) { delete static_cast<AllocColumns*>(p); });
  py::dict out;
  out["id"] = ids(a.id, owner);
  out["words"] = a.words, out["jobs"] = a.jobs;
  out["node"] = column(a.node, owner), out["job"] = column(a.job, owner), out["group"] = column(a.group, owner);
  out["index"] = column(a.index, owner), out["desired"] = column(a.desired, owner);
  out["client"] = column(a.client, owner), out["cpu_mhz"] = column(a.cpu_mhz, owner);
  out["memory_mb"] = column(a.memory_mb, owner), out["disk_mb"] = column(a.disk_mb, owner);
  out["score"] = column(a.score, owner), out["create_index"] = column(a.create_index, owner);
  out["modify_index"] = column(a.modify_index, owner);
  return out;
}

py::list deployments_of(const View& view) {
  py::list out;
  for (const DeploymentInfo& deployment : view.deployments()) {
    py::dict one;
    one["id"] = deployment.id, one["namespace"] = deployment.job_namespace, one["job_id"] = deployment.job_id;
    one["job_version"] = deployment.job_version;
    one["status"] = deployment.status, one["description"] = deployment.description;
    py::list groups;
    for (const DeploymentGroupInfo& group : deployment.groups) {
      py::dict each;
      each["group"] = group.group, each["desired_total"] = group.desired_total, each["placed"] = group.placed;
      each["healthy"] = group.healthy, each["unhealthy"] = group.unhealthy;
      each["desired_canaries"] = group.desired_canaries, each["promoted"] = group.promoted;
      groups.append(each);
    }
    one["groups"] = groups;
    out.append(one);
  }
  return out;
}

}  // namespace

Job job_of(const py::object& value) {
  if (py::isinstance<Job>(value)) return value.cast<Job>();
  return take(Job::from_text(json_of(value)));
}

void bind_values(py::module_& module) {
  py::class_<Job>(module, "Job")
      .def(py::init([](const py::object& value) { return take(Job::from_text(json_of(value))); }), py::arg("value"))
      .def_static(
          "from_file", [](const std::string& path) { return take(Job::from_file(path)); }, py::arg("path"))
      .def_property_readonly("id", &Job::id)
      .def_property_readonly("namespace", &Job::job_namespace)
      .def_property_readonly("type", &Job::type)
      .def_property_readonly("priority", &Job::priority)
      .def_property_readonly("count", &Job::count)
      .def_property_readonly("warnings", &Job::warnings);
  py::class_<Plan>(module, "Plan")
      .def_readonly("eval_id", &Plan::eval_id)
      .def_readonly("job_id", &Plan::job_id)
      .def_readonly("updated_in_place", &Plan::updated_in_place)
      .def_property_readonly("complete", &Plan::complete)
      .def_property_readonly("placements", &placements_of)
      .def_property_readonly("failures", &failures_of)
      .def_property_readonly("stops", &stops_of)
      .def("explain", &Plan::explain)
      .def("__len__", [](const Plan& plan) { return plan.placements.size(); });
  py::class_<View>(module, "View", py::dynamic_attr())  // tables cache their columns there
      .def_property_readonly("index", &View::index)
      .def("node_columns", &node_columns)
      .def("alloc_columns", &alloc_columns)
      .def("deployments", &deployments_of)
      .def("to_json", &View::to_json, py::call_guard<py::gil_scoped_release>());
}

}  // namespace berth::python
