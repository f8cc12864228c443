// Python class LivingCluster.
#include "berth/living.h"

#include "module.h"

namespace berth::python {

namespace {

LifeConfig life_of(std::uint64_t seed, double start_s, double batch_run_s) {
  LifeConfig out;
  out.seed = seed;
  out.start_ns = static_cast<std::int64_t>(start_s * 1e9);
  out.batch_run_ns = static_cast<std::int64_t>(batch_run_s * 1e9);
  return out;
}
/// The cluster for reading. No other thread may advance its time meanwhile.
const LivingCluster& at_rest(const LivingCluster& cluster) {
  if (cluster.in_use())
    throw Failure("another thread is using this cluster; a cluster belongs to one thread at a time");
  return cluster;
}
std::int64_t ns_of(double seconds) {
  if (!(seconds >= 0) || seconds > 3.2e9) throw py::value_error("seconds: has to be in 0..3.2e9");
  return static_cast<std::int64_t>(seconds * 1e9);
}

/// Binds constructors, clock and contents.
void bind_life(py::class_<LivingCluster>& cluster) {
  cluster
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
      .def_property_readonly("now_s",
                             [](const LivingCluster& c) { return static_cast<double>(at_rest(c).now_ns()) / 1e9; })
      .def(
          "advance",
          [](LivingCluster& c, double seconds) {
            const std::int64_t ns = ns_of(seconds);
            const bool done = [&] {
              const py::gil_scoped_release release;
              return c.advance(ns);
            }();
            if (!done) throw Failure("another thread is using this cluster; a cluster belongs to one thread at a time");
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
      .def_property_readonly("heartbeats", [](const LivingCluster& c) { return at_rest(c).counts().heartbeats; })
      .def_property_readonly("digest", [](const LivingCluster& c) { return at_rest(c).digest(); })
      .def("view", [](const LivingCluster& c) { return at_rest(c).view(); });
}

/// Binds jobs, deployments and allocations.
void bind_jobs(py::class_<LivingCluster>& cluster) {
  cluster
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
          "promote",
          [](LivingCluster& c, const std::string& id, const std::vector<std::string>& groups) {
            take(c.promote(id, groups));
          },
          py::arg("deployment_id"), py::arg("groups") = std::vector<std::string>())
      .def(
          "fail_deployment", [](LivingCluster& c, const std::string& id) { take(c.fail_deployment(id)); },
          py::arg("deployment_id"))
      .def(
          "pause_deployment",
          [](LivingCluster& c, const std::string& id, bool paused) { take(c.pause_deployment(id, paused)); },
          py::arg("deployment_id"), py::arg("paused") = true)
      .def(
          "set_health",
          [](LivingCluster& c, const std::string& id, const std::vector<std::string>& healthy,
             const std::vector<std::string>& unhealthy) { take(c.set_health(id, healthy, unhealthy)); },
          py::arg("deployment_id"), py::arg("healthy"), py::arg("unhealthy") = std::vector<std::string>())
      .def(
          "stop_alloc", [](LivingCluster& c, const std::string& id) { take(c.stop_alloc(id)); }, py::arg("alloc_id"));
}

/// Binds nodes.
void bind_nodes(py::class_<LivingCluster>& cluster) {
  cluster
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
          "remove_node", [](LivingCluster& c, const std::string& id) { take(c.remove_node(id)); }, py::arg("node_id"));
}

}  // namespace

void bind_living_cluster(py::module_& module) {
  py::class_<LivingCluster> cluster(module, "LivingCluster");
  bind_life(cluster);
  bind_jobs(cluster);
  bind_nodes(cluster);
}

}  // namespace berth::python
