// Ranking strategies in Python: berth's own by name, and functions over arrays in place of the fit score (R-STRAT-007).
//
// A Python function receives a block of at most 64 nodes as NumPy arrays and the task, and returns one score per node.
// The arrays are the strategy's own memory and are refilled for each call: a function that stores them must copy them.
// When a workload is packed, scores are cached by node and task class until the node changes, as for every strategy.
// The engine runs without the interpreter's lock and takes it only for the call. If the function raises an exception,
// the decision is finished with scores of 0, and schedule() discards the plan and raises the exception.
#include "berth/strategy.h"

#include <atomic>
#include <map>
#include <mutex>

#include "berth/packing.h"
#include "module.h"
#include "strategies.h"

namespace berth::python {

namespace {

thread_local std::exception_ptr raised;

constexpr std::size_t kBlock = 64;

/// Arrays over one block of nodes, and views of them by number of nodes.
class Block {
 public:
  Block()
      : free_({kBlock, strategy::kDimensions}),
        capacity_({kBlock, strategy::kDimensions}),
        tasks_(kBlock),
        gpu_tasks_(kBlock),
        model_(kBlock),
        views_(kBlock + 1) {}

  py::object fill(std::span<const strategy::Node> nodes) {
    std::int32_t *free = free_.mutable_data(), *capacity = capacity_.mutable_data(), *tasks = tasks_.mutable_data(),
                 *gpu_tasks = gpu_tasks_.mutable_data();
    std::uint16_t* model = model_.mutable_data();
    for (const strategy::Node& node : nodes) {
      for (std::size_t d = 0; d < strategy::kDimensions; ++d)
        *free++ = node.state.free[d], *capacity++ = node.state.capacity[d];
      *tasks++ = node.state.tasks, *gpu_tasks++ = node.state.gpu_tasks, *model++ = node.state.model;
    }
    py::object& view = views_[nodes.size()];
    if (!view) {
      const py::slice rows(0, static_cast<py::ssize_t>(nodes.size()), 1);
      view = py::module_::import("types").attr("SimpleNamespace")(
          py::arg("free") = free_[rows], py::arg("capacity") = capacity_[rows], py::arg("tasks") = tasks_[rows],
          py::arg("gpu_tasks") = gpu_tasks_[rows], py::arg("model") = model_[rows]);
    }
    return view;
  }

 private:
  py::array_t<std::int32_t> free_, capacity_, tasks_, gpu_tasks_;
  py::array_t<std::uint16_t> model_;
  std::vector<py::object> views_;
};

py::object task_of(const strategy::TaskClass& task) {
  py::array_t<std::int32_t> ask(strategy::kDimensions, task.ask.data());
  return py::module_::import("types").attr("SimpleNamespace")(py::arg("ask") = ask, py::arg("gpus") = task.gpus,
                                                              py::arg("gpu_milli") = task.gpu_milli,
                                                              py::arg("priority") = task.priority);
}

/// A score outside 0..1 of the node at that position of the block.
struct BadScore {
  double score;
  std::size_t position;
};

/// Checks and copies the function's result: one number in 0..1 per node.
void read_scores(const py::object& returned, std::span<double> out) {
  const auto array = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(returned);
  if (!array || returned.is_none()) {
    PyErr_Clear();
    throw py::type_error("scores: the strategy has to return one number per node, an array of floats; got " +
                         py::str(py::type::of(returned).attr("__name__")).cast<std::string>());
  }
  if (array.ndim() != 1 || array.shape(0) != static_cast<py::ssize_t>(out.size()))
    throw py::value_error("scores: shape " + py::str(py::array(array).attr("shape")).cast<std::string>() +
                          ", wanted (" + std::to_string(out.size()) + ",), one score per node");
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double score = array.data()[i];
    if (!(score >= 0 && score <= 1)) throw BadScore{score, i};  // nor a NaN
    out[i] = score;
  }
}

/// A Python function while a strategy uses it.
class Function {
 public:
  explicit Function(py::object function) : function_(std::move(function)) {}
  ~Function() {
    const py::gil_scoped_acquire held;
    function_ = py::object(), task_ = py::object(), block_.reset();
  }
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  void call(std::span<const strategy::Node> nodes, const strategy::TaskClass& task, std::span<double> out) {
    if (!raised) {
      const py::gil_scoped_acquire held;
      try {
        while (!nodes.empty()) {
          const std::size_t count = std::min(nodes.size(), kBlock);
          call_block(nodes.first(count), task, out.first(count));
          nodes = nodes.subspan(count), out = out.subspan(count);
        }
        return;
      } catch (...) {
        raised = std::current_exception();
      }
    }
    std::fill(out.begin(), out.end(), 0.0);
  }

 private:
  void call_block(std::span<const strategy::Node> nodes, const strategy::TaskClass& task, std::span<double> out) {
    if (!block_) block_ = std::make_unique<Block>();
    if (!task_ || task.ask != ask_ || task.gpus != gpus_ || task.gpu_milli != gpu_milli_ ||
        task.priority != priority_) {
      task_ = task_of(task);
      ask_ = task.ask, gpus_ = task.gpus, gpu_milli_ = task.gpu_milli, priority_ = task.priority;
    }
    try {
      read_scores(function_(block_->fill(nodes), task_), out);
    } catch (const BadScore& bad) {
      const strategy::Node& node = nodes[bad.position];
      const py::object name = py::getattr(function_, "__name__", py::repr(function_));
      throw py::value_error(
          "strategy " + py::str(name).cast<std::string>() + ": score " +
          py::str(py::float_(bad.score)).cast<std::string>() + " of node " + std::to_string(bad.position) +
          " of its block (" + std::to_string(node.free(strategy::kCpu)) + " of " +
          std::to_string(node.capacity(strategy::kCpu)) + " MHz and " + std::to_string(node.free(strategy::kMemory)) +
          " of " + std::to_string(node.capacity(strategy::kMemory)) + " MiB free) is outside 0..1; scale the scores");
    }
  }

  py::object function_;
  // Reused from call to call; guarded by the interpreter's lock.
  std::unique_ptr<Block> block_;
  py::object task_;
  strategy::Amounts ask_{};
  std::int32_t gpus_ = 0, gpu_milli_ = 0, priority_ = 0;
};

/// The strategy made of the function, by blocks of nodes (berth/strategy.h): scores are cached until a node changes.
struct FunctionStrategy {
  std::shared_ptr<Function> function;
  void scores(std::span<const strategy::Node> nodes, const strategy::TaskClass& task, std::span<double> out) const {
    function->call(nodes, task, out);
  }
};

strategy::StrategyInfo info_of(std::string name, const py::object* function) {
  return {.name = std::move(name),
          .formula = "a Python function",
          .source = "user",
          .cost = "one call per block of changed nodes",
          .make = [function](const strategy::Context&, const strategy::Parameters&,
                             const strategy::Registry&) -> Result<std::unique_ptr<strategy::Ranker>> {
            const py::gil_scoped_acquire held;
            return strategy::make_ranker(FunctionStrategy{std::make_shared<Function>(*function)});
          }};
}

py::list list_strategies() {
  py::list out;
  for (const strategy::StrategyInfo* info : strategy::registry().all()) {
    py::dict one;
    one["name"] = info->name, one["formula"] = info->formula, one["source"] = info->source, one["cost"] = info->cost;
    py::list parameters;
    for (const strategy::ParameterInfo& parameter : info->parameters) parameters.append(parameter.name);
    one["parameters"] = parameters;
    out.append(one);
  }
  return out;
}

/// Metrics by their names in `berth compare`, and the digest of the placements.
py::tuple result_of(const PackingResult& run) {
  using berth::strategy::kCpu, berth::strategy::kDisk, berth::strategy::kGpu, berth::strategy::kMemory;
  py::dict metrics;
  metrics["placed_percent"] = run.placed_percent;
  metrics["priority_placed_percent"] = run.priority_placed_percent;
  metrics["cpu_percent"] = run.used_percent[kCpu], metrics["memory_percent"] = run.used_percent[kMemory];
  metrics["disk_percent"] = run.used_percent[kDisk], metrics["gpu_percent"] = run.used_percent[kGpu];
  metrics["fragmentation_percent"] = run.fragmentation_percent;
  metrics["gpu_fragment_percent"] = run.gpu_fragment_percent;
  metrics["stranded_cpu_percent"] = run.stranded_percent[kCpu];
  metrics["stranded_memory_percent"] = run.stranded_percent[kMemory];
  metrics["nodes_used_percent"] = run.nodes_used_percent, metrics["balance_points"] = run.balance_points;
  metrics["empty_nodes_percent"] = run.empty_nodes_percent;
  metrics["cpu_without_memory_percent"] = run.cpu_without_memory_percent;
  metrics["memory_without_cpu_percent"] = run.memory_without_cpu_percent;
  metrics["regret_mean"] = run.regret_mean, metrics["regret_p99"] = run.regret_p99;
  metrics["not_best_percent"] = run.not_best_percent;
  metrics["decisions_per_s"] = run.decisions_per_s;
  metrics["latency_p50_ns"] = run.latency_p50_ns, metrics["latency_p99_ns"] = run.latency_p99_ns;
  metrics["latency_p999_ns"] = run.latency_p999_ns;
  for (const auto& [name, value] : {std::pair{"power_mean_kw", run.power_mean_kw},
                                    {"energy_kwh", run.energy_kwh},
                                    {"carbon_kg", run.carbon_kg},
                                    {"price", run.price}})
    if (value) metrics[name] = *value;
  return py::make_tuple(metrics, run.digest);
}

PackingTrial prepare_trial(const std::string& workload, const std::string& label, std::int64_t seed) {
  return take([&] {
    const py::gil_scoped_release release;
    return PackingTrial::prepare(workload, label, seed);
  }());
}

py::tuple pack_trial(const PackingTrial& trial, const py::object& strategy) {
  if (!py::isinstance<py::str>(strategy) && !PyCallable_Check(strategy.ptr()))
    throw py::type_error("strategy: has to be a name or a function of (nodes, task)");
  const auto run = [&]() -> Result<PackingResult> {
    if (py::isinstance<py::str>(strategy)) {
      const auto name = strategy.cast<std::string>();
      const py::gil_scoped_release release;
      return trial.pack(name);
    }
    const py::gil_scoped_release release;
    strategy::Registry own;  // exists for this call only
    own.add(info_of("function", &strategy));
    return trial.pack({"function", {}}, own);
  }();
  rethrow_raised();
  return result_of(take(Result<PackingResult>(run)));
}

}  // namespace

std::string add_function(const py::function& function) {
  static std::atomic<int> number{0};
  const std::string name = "python-" + std::to_string(++number);
  // The registry outlives the interpreter, so its contents are never destroyed.
  strategy::registry().add(info_of(name, new py::object(function)));
  return name;
}

void rethrow_raised() {
  if (!raised) return;
  const std::exception_ptr error = std::exchange(raised, nullptr);
  std::rethrow_exception(error);
}

void bind_strategies(py::module_& module) {
  module.def("strategies", &list_strategies);
  py::class_<PackingTrial>(module, "PackingTrial")
      .def(py::init(&prepare_trial), py::arg("workload"), py::arg("label"), py::arg("seed"))
      .def("pack", &pack_trial, py::arg("strategy"));
}

}  // namespace berth::python
