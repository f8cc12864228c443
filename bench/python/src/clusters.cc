// Cluster, LivingCluster, Job, Plan and View in Python. Results are arrays over the columns of a View or a Plan.
#include "berth/cluster.h"

#include <algorithm>
#include <cstring>

#include "berth/living.h"
#include "module.h"
#include "strategies.h"

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

/// IDs as 16 bytes each; Python turns them into text when asked.
py::array ids(const std::vector<IdBytes>& values, const py::object& owner) {
  py::array out(py::dtype("V16"), {values.size()}, {sizeof(IdBytes)}, values.data(), owner);
  out.attr("setflags")(py::arg("write") = false);
  return out;
}

/// The columns of a View, kept by the handle that arrays refer to. The state itself has no columns to look at: its rows
/// are structs of several fields in chunks of 256 that snapshots share, in the order of their making, with holes.
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

/// A Job, or what makes one: a dict or JSON text.
Job job_of(const py::object& value) {
  if (py::isinstance<Job>(value)) return value.cast<Job>();
  return take(Job::from_json(json_of(value)));
}

template <class T>
T choice(const std::string& said, const std::vector<std::pair<const char*, T>>& known, const char* what) {
  std::string valid;
  for (const auto& [name, value] : known) {
    if (said == name) return value;
    valid += std::string(valid.empty() ? "" : ", ") + name;
  }
  throw py::value_error(std::string(what) + ": no '" + said + "'; one of " + valid);
}

Config config_of(std::uint64_t seed, const std::string& order, const std::string& algorithm,
                 const std::string& compat) {
  Config out;
  out.seed = seed;
  out.order = choice<Order>(
      order, {{"nomad", Order::nomad}, {"mix", Order::mix}, {"lazy", Order::lazy}, {"identity", Order::identity}},
      "order");
  out.algorithm = choice<Algorithm>(
      algorithm,
      {{"from-cluster", Algorithm::from_cluster}, {"binpack", Algorithm::binpack}, {"spread", Algorithm::spread}},
      "algorithm");
  out.compat = choice<Compat>(compat, {{"nomad", Compat::nomad}, {"fixed", Compat::fixed}}, "compat");
  return out;
}
LifeConfig life_of(std::uint64_t seed, double start_s, double batch_run_s) {
  LifeConfig out;
  out.seed = seed;
  out.start_ns = static_cast<std::int64_t>(start_s * 1e9);
  out.batch_run_ns = static_cast<std::int64_t>(batch_run_s * 1e9);
  return out;
}
std::int64_t ns_of(double seconds) {
  if (!(seconds >= 0) || seconds > 3.2e9) throw py::value_error("seconds: has to be in 0..3.2e9");
  return static_cast<std::int64_t>(seconds * 1e9);
}

void bind_values(py::module_& module) {
  py::class_<Job>(module, "Job")
      .def(py::init([](const py::object& value) { return take(Job::from_json(json_of(value))); }), py::arg("value"))
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
  py::class_<View>(module, "View", py::dynamic_attr())  // tables keep what they gathered
      .def_property_readonly("index", &View::index)
      .def("node_columns", &node_columns)
      .def("alloc_columns", &alloc_columns)
      .def("to_json", &View::to_json, py::call_guard<py::gil_scoped_release>());
}

}  // namespace

void bind_clusters(py::module_& module) {
  bind_values(module);
  py::class_<Cluster>(module, "Cluster")
      .def(py::init([](std::uint64_t seed, const std::string& order, const std::string& algorithm,
                       const std::string& compat) { return Cluster(config_of(seed, order, algorithm, compat)); }),
           py::kw_only(), py::arg("seed") = 1, py::arg("order") = "nomad", py::arg("algorithm") = "from-cluster",
           py::arg("compat") = "nomad")
      .def_static(
          "from_file",
          [](const std::string& path, std::uint64_t seed, const std::string& order, const std::string& algorithm,
             const std::string& compat) {
            const Config config = config_of(seed, order, algorithm, compat);
            const py::gil_scoped_release release;
            return take(Cluster::from_file(path, config));
          },
          py::arg("path"), py::kw_only(), py::arg("seed") = 1, py::arg("order") = "nomad",
          py::arg("algorithm") = "from-cluster", py::arg("compat") = "nomad")
      .def_static(
          "from_json",
          [](const py::object& value, std::uint64_t seed, const std::string& order, const std::string& algorithm,
             const std::string& compat) {
            return take(Cluster::from_json(json_of(value), config_of(seed, order, algorithm, compat)));
          },
          py::arg("value"), py::kw_only(), py::arg("seed") = 1, py::arg("order") = "nomad",
          py::arg("algorithm") = "from-cluster", py::arg("compat") = "nomad")
      .def_static(
          "from_workload",
          [](const std::string& name, const std::string& label, std::uint64_t seed, const std::string& order,
             const std::string& algorithm, const std::string& compat) {
            const Config config = config_of(seed == 0 ? 1 : seed, order, algorithm, compat);
            const py::gil_scoped_release release;
            return take(Cluster::from_workload(name, label, seed, config));
          },
          py::arg("name"), py::arg("label") = "full", py::kw_only(), py::arg("seed") = 0, py::arg("order") = "nomad",
          py::arg("algorithm") = "from-cluster", py::arg("compat") = "nomad")
      .def_property_readonly("load_warnings", &Cluster::load_warnings)
      .def(
          "add_node", [](Cluster& c, const py::object& node) { take(c.add_node(json_of(node))); }, py::arg("node"))
      .def(
          "set_node",
          [](Cluster& c, const std::string& id, const std::string& status, bool eligible, bool draining) {
            take(c.set_node(id, status, eligible, draining));
          },
          py::arg("node_id"), py::arg("status") = "ready", py::kw_only(), py::arg("eligible") = true,
          py::arg("draining") = false)
      .def(
          "register",
          [](Cluster& c, const py::object& value) {
            const Job job = job_of(value);
            take(c.register_job(job));
            return job;
          },
          py::arg("job"))
      .def(
          "remove_job",
          [](Cluster& c, const std::string& id, const std::string& space) { return take(c.remove_job(space, id)); },
          py::arg("job_id"), py::arg("namespace") = "default")
      .def(
          "schedule",
          [](Cluster& c, const py::object& job, std::string space, std::int64_t now_ns) {
            std::string id;
            if (py::isinstance<Job>(job)) {
              const Job& known = job.cast<const Job&>();
              id = known.id(), space = known.job_namespace();
            } else {
              id = job.cast<std::string>();
            }
            Result<Plan, Error> plan = [&] {
              const py::gil_scoped_release release;
              return c.schedule(space, id, now_ns);
            }();
            rethrow_raised();
            return take(std::move(plan));
          },
          py::arg("job"), py::arg("namespace") = "default", py::arg("now_ns") = 0)
      .def(
          "commit",
          [](Cluster& c, const Plan& plan) {
            const CommitResult result = take(c.commit(plan));
            py::dict out;
            out["index"] = result.index, out["committed"] = result.committed, out["refused"] = result.refused;
            py::list rejected;
            for (const RejectedNode& node : result.rejected) {
              py::dict one;
              one["node_id"] = node.node_id, one["node_name"] = node.node_name, one["reason"] = node.reason;
              rejected.append(one);
            }
            out["rejected"] = rejected;
            return out;
          },
          py::arg("plan"))
      .def(
          "set_alloc_status",
          [](Cluster& c, const std::string& id, const std::string& status) { take(c.set_alloc_status(id, status)); },
          py::arg("alloc_id"), py::arg("status"))
      .def(
          "score_by",
          [](Cluster& c, const py::object& strategy) {
            const bool named = py::isinstance<py::str>(strategy);
            if (!named && !PyCallable_Check(strategy.ptr()))
              throw py::type_error("strategy: has to be a name or a function of (nodes, task)");
            const std::string name =
                named ? strategy.cast<std::string>() : add_function(py::reinterpret_borrow<py::function>(strategy));
            const py::gil_scoped_release release;
            take(c.score_by(name));
          },
          py::arg("strategy"))
      .def("view", &Cluster::view);

  py::class_<LivingCluster>(module, "LivingCluster")
      .def(py::init([](std::uint64_t seed, double start_s, double batch_run_s) {
             return LivingCluster(life_of(seed, start_s, batch_run_s));
           }),
           py::kw_only(), py::arg("seed") = 1, py::arg("start_s") = 1.7e9, py::arg("batch_run_s") = 60.0)
      .def_static(
          "from_file",
          [](const std::string& path, std::uint64_t seed, double start_s, double batch_run_s) {
            return take(LivingCluster::from_file(path, life_of(seed, start_s, batch_run_s)));
          },
          py::arg("path"), py::kw_only(), py::arg("seed") = 1, py::arg("start_s") = 1.7e9,
          py::arg("batch_run_s") = 60.0)
      .def_static(
          "from_workload",
          [](const std::string& name, const std::string& label, std::uint64_t seed, double start_s,
             double batch_run_s) {
            return take(
                LivingCluster::from_workload(name, label, seed, life_of(seed == 0 ? 1 : seed, start_s, batch_run_s)));
          },
          py::arg("name"), py::arg("label") = "full", py::kw_only(), py::arg("seed") = 0, py::arg("start_s") = 1.7e9,
          py::arg("batch_run_s") = 60.0)
      .def_property_readonly("now_s", [](const LivingCluster& c) { return static_cast<double>(c.now_ns()) / 1e9; })
      .def(
          "advance",
          [](LivingCluster& c, double seconds) {
            const std::int64_t ns = ns_of(seconds);
            const py::gil_scoped_release release;
            c.advance(ns);
          },
          py::arg("seconds"))
      .def(
          "add_node", [](LivingCluster& c, const py::object& node) { take(c.add_node(json_of(node))); },
          py::arg("node"))
      .def(
          "register",
          [](LivingCluster& c, const py::object& value) {
            const Job job = job_of(value);
            take(c.register_job(job));
            return job;
          },
          py::arg("job"))
      .def(
          "stop_job",
          [](LivingCluster& c, const std::string& id, const std::string& space, bool purge) {
            take(c.stop_job(space, id, purge));
          },
          py::arg("job_id"), py::arg("namespace") = "default", py::kw_only(), py::arg("purge") = false)
      .def(
          "scale_job",
          [](LivingCluster& c, const std::string& id, const std::string& group, std::int64_t count,
             const std::string& space) { take(c.scale_job(space, id, group, count)); },
          py::arg("job_id"), py::arg("group"), py::arg("count"), py::arg("namespace") = "default")
      .def(
          "stop_alloc", [](LivingCluster& c, const std::string& id) { take(c.stop_alloc(id)); }, py::arg("alloc_id"))
      .def(
          "drain",
          [](LivingCluster& c, const std::string& id, double deadline_s, bool ignore_system_jobs) {
            take(c.drain_node(id, deadline_s < 0 ? -1 : ns_of(deadline_s), ignore_system_jobs));
          },
          py::arg("node_id"), py::arg("deadline_s") = 0.0, py::kw_only(), py::arg("ignore_system_jobs") = false)
      .def(
          "end_drain", [](LivingCluster& c, const std::string& id, bool eligible) { take(c.end_drain(id, eligible)); },
          py::arg("node_id"), py::kw_only(), py::arg("eligible") = true)
      .def(
          "set_eligible",
          [](LivingCluster& c, const std::string& id, bool eligible) { take(c.set_eligible(id, eligible)); },
          py::arg("node_id"), py::arg("eligible"))
      .def(
          "set_reachable",
          [](LivingCluster& c, const std::string& id, bool reachable) { take(c.set_reachable(id, reachable)); },
          py::arg("node_id"), py::arg("reachable"))
      .def(
          "remove_node", [](LivingCluster& c, const std::string& id) { take(c.remove_node(id)); }, py::arg("node_id"))
      .def_property_readonly("heartbeats", [](const LivingCluster& c) { return c.counts().heartbeats; })
      .def_property_readonly("digest", &LivingCluster::digest)
      .def("view", &LivingCluster::view);
}

}  // namespace berth::python
