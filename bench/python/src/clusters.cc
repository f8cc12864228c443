// Python class Cluster.
#include "berth/cluster.h"

#include "module.h"
#include "strategies.h"

namespace berth::python {

namespace {

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

py::list advice_of(const std::vector<GroupAdvice>& advice) {
  py::list out;
  for (const GroupAdvice& group : advice) {
    py::dict one;
    one["task_group"] = group.task_group, one["failed"] = group.failed, one["refused"] = group.refused;
    one["filtered_most"] = group.filtered_most, one["filtered_nodes"] = group.filtered_nodes;
    py::list nearest, edits;
    for (const NodeShortage& node : group.nearest) {
      py::dict each;
      each["node_name"] = node.node_name, each["cpu_mhz"] = node.cpu_mhz, each["memory_mb"] = node.memory_mb;
      each["disk_mb"] = node.disk_mb, each["cores"] = node.cores, each["reason"] = node.reason;
      nearest.append(each);
    }
    for (const JobEdit& edit : group.edits) {
      py::dict each;
      each["text"] = edit.text, each["patch"] = edit.patch;
      edits.append(each);
    }
    one["nearest"] = nearest, one["edits"] = edits;
    out.append(one);
  }
  return out;
}

/// Binds the constructors.
void bind_makers(py::class_<Cluster>& cluster) {
  cluster
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
          py::arg("algorithm") = "from-cluster", py::arg("compat") = "nomad");
}

/// Binds changes of nodes, jobs and allocations.
void bind_changes(py::class_<Cluster>& cluster) {
  cluster.def_property_readonly("load_warnings", &Cluster::load_warnings)
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
          "remove_node", [](Cluster& c, const std::string& id) { take(c.remove_node(id)); }, py::arg("node_id"))
      .def(
          "set_alloc_status",
          [](Cluster& c, const std::string& id, const std::string& status) { take(c.set_alloc_status(id, status)); },
          py::arg("alloc_id"), py::arg("status"));
}

/// Binds decisions.
void bind_decisions(py::class_<Cluster>& cluster) {
  cluster
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
          "dry_run",
          [](const Cluster& c, const py::object& value, std::int64_t now_ns) {
            const Job job = job_of(value);
            Result<Plan> plan = [&] {
              const py::gil_scoped_release release;
              return c.dry_run(job, now_ns);
            }();
            rethrow_raised();
            return take(std::move(plan));
          },
          py::arg("job"), py::arg("now_ns") = 0)
      .def(
          "advise",
          [](const Cluster& c, const py::object& value, std::int64_t now_ns) {
            const Job job = job_of(value);
            Result<std::vector<GroupAdvice>> advice = [&] {
              const py::gil_scoped_release release;
              return c.advise(job, now_ns);
            }();
            return advice_of(take(std::move(advice)));
          },
          py::arg("job"), py::arg("now_ns") = 0)
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
      .def("view", [](const Cluster& c) {
        if (c.in_use()) throw Failure("the cluster is deciding; look at it before or afterwards");
        return c.view();
      });
}

}  // namespace

void bind_cluster(py::module_& module) {
  py::class_<Cluster> cluster(module, "Cluster");
  bind_makers(cluster);
  bind_changes(cluster);
  bind_decisions(cluster);
}

}  // namespace berth::python
