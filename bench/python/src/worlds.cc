// Worlds that Python packs step by step (berth/packing.h): their arrays as NumPy views of the engine's memory.
#include <algorithm>
#include <cstddef>

#include "berth/packing.h"
#include "module.h"

namespace berth::python {

namespace {

using Shape = std::vector<py::ssize_t>;

/// A read-only view of engine memory that `owner` keeps alive.
template <class T>
py::array view(const py::object& owner, const T* data, Shape shape, Shape strides) {
  py::array out(py::dtype::of<T>(), std::move(shape), std::move(strides), data, owner);
  out.attr("setflags")(py::arg("write") = false);
  return out;
}

/// The arrays by name. (count, nodes, ...): amounts as strided views of the nodes' records.
py::dict arrays_of(const py::object& self) {
  using strategy::NodeState;
  using Task = PackingWorlds::Task;
  const auto& worlds = self.cast<const PackingWorlds&>();
  const auto count = static_cast<py::ssize_t>(worlds.count()), nodes = static_cast<py::ssize_t>(worlds.nodes());
  const auto dimensions = static_cast<py::ssize_t>(strategy::kDimensions);
  constexpr py::ssize_t record = sizeof(NodeState), amount = sizeof(std::int32_t), task = sizeof(Task);
  py::dict out;
  static const NodeState kNone{};
  const NodeState* const first = worlds.states().empty() ? &kNone : worlds.states().data();
  const Shape by_node{nodes * record, record}, amounts{nodes * record, record, amount};
  out["free"] = view(self, first->free.data(), {count, nodes, dimensions}, amounts);
  out["capacity"] = view(self, first->capacity.data(), {count, nodes, dimensions}, amounts);
  out["tasks"] = view(self, &first->tasks, {count, nodes}, by_node);
  out["gpu_tasks"] = view(self, &first->gpu_tasks, {count, nodes}, by_node);
  const auto stride = static_cast<py::ssize_t>(worlds.device_stride());
  constexpr py::ssize_t device = sizeof(std::int16_t);
  out["devices"] =
      view(self, worlds.devices().data(), {count, nodes, stride}, {nodes * stride * device, stride * device, device});
  out["mask"] = view(self, worlds.masks().data(), {count, nodes}, {nodes, 1});
  const Task* const tasks = worlds.tasks().data();
  out["ask"] = view(self, tasks->ask.data(), {count, dimensions}, {task, amount});
  out["gpus"] = view(self, &tasks->gpus, {count}, {task});
  out["gpu_milli"] = view(self, &tasks->gpu_milli, {count}, {task});
  out["priority"] = view(self, &tasks->priority, {count}, {task});
  return out;
}

py::array_t<std::int32_t> step(PackingWorlds& worlds,
                               const py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>& rows) {
  if (rows.ndim() != 1 || rows.shape(0) != static_cast<py::ssize_t>(worlds.count()))
    throw py::value_error("step: wants " + std::to_string(worlds.count()) + " rows, one per world");
  py::array_t<std::int32_t> missed(rows.shape(0));
  const std::span<const std::int64_t> in(rows.data(), worlds.count());
  const std::span<std::int32_t> out(missed.mutable_data(), worlds.count());
  worlds.step(in, out);  // under the interpreter's lock: only one thread at a time may use the worlds
  return missed;
}

std::size_t checked(const PackingWorlds& worlds, std::size_t world) {
  if (world >= worlds.count()) throw py::index_error("there is no world " + std::to_string(world));
  return world;
}

}  // namespace

void bind_worlds(py::module_& module) {
  py::class_<PackingWorlds>(module, "PackingWorlds")
      .def(py::init([](const PackingTrial& trial, std::size_t count) {
             const std::size_t most = std::min<std::size_t>(65'536, PackingWorlds::count_max(trial));
             if (count < 1 || count > most)
               throw py::value_error("count: use 1 to " + std::to_string(most) + " worlds");
             return PackingWorlds(trial, count);
           }),
           py::arg("trial"), py::arg("count") = 1)
      .def_property_readonly("count", &PackingWorlds::count)
      .def_property_readonly("nodes", &PackingWorlds::nodes)
      .def("arrays", &arrays_of)
      .def("step", &step, py::arg("rows"))
      .def(
          "restart", [](PackingWorlds& worlds, std::size_t world) { worlds.restart(checked(worlds, world)); },
          py::arg("world"))
      .def(
          "ended", [](const PackingWorlds& worlds, std::size_t world) { return worlds.ended(checked(worlds, world)); },
          py::arg("world"))
      .def(
          "outcome",
          [](const PackingWorlds& worlds, std::size_t world) {
            const PackingWorlds::Outcome outcome = worlds.outcome(checked(worlds, world));
            return py::dict(py::arg("asked") = outcome.asked, py::arg("placed") = outcome.placed,
                            py::arg("digest") = outcome.digest);
          },
          py::arg("world"));
}

}  // namespace berth::python
