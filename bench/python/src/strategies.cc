// Ranking strategies in Python: berth's own by name, and functions over arrays in place of the fit score (R-STRAT-007).
//
// A Python function gets a block of at most 64 nodes as NumPy arrays and the task, and returns one score per node. The
// arrays are the strategy's own memory, filled anew for each call: a function that wants to keep them copies them. The
// engine runs without the interpreter's lock and takes it for the call only. What a function raises is kept, the
// decision is finished with scores of 0, and the exception leaves schedule(), whose plan is thrown away.
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

/// Arrays over one block of nodes, and the views of them that were handed out, by number of nodes.
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

/// What a function returned, checked: one number in 0..1 per node.
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

class PythonRanker final : public strategy::Ranker {
 public:
  explicit PythonRanker(py::object function) : function_(std::move(function)) {}
  ~PythonRanker() override {
    const py::gil_scoped_acquire held;
    function_ = py::object(), task_ = py::object(), block_.reset();
  }

  /// Every feasible node, greatest score, lowest row among equals (R-STRAT-002).
  std::optional<strategy::Choice> choose(const strategy::Fleet& fleet, strategy::ClassId id,
                                         strategy::Exclusion without) override {
    const strategy::TaskClass& task = fleet.task_class(id);
    std::optional<strategy::Choice> best;
    std::vector<strategy::Row> rows;
    std::vector<strategy::Node> nodes;
    std::vector<double> scores(kBlock);
    const auto rate = [&] {
      call(this, nodes, task, std::span(scores).first(nodes.size()));
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (!best || scores[i] > best->score)
          best = strategy::Choice{rows[i], strategy::choose_devices(nodes[i], task, strategy::DeviceRule::best),
                                  scores[i]};
      rows.clear(), nodes.clear();
    };
    for (strategy::Row row = 0; row < fleet.size(); ++row) {
      if (strategy::excluded(without, row) || !fleet.feasible(row, task)) continue;
      rows.push_back(row), nodes.push_back(fleet.node(row));
      if (nodes.size() == kBlock) rate();
    }
    if (!nodes.empty()) rate();
    return best;
  }

  strategy::FitFunction fit() const override { return {&PythonRanker::call, this}; }

 private:
  static void call(const void* self, std::span<const strategy::Node> nodes, const strategy::TaskClass& task,
                   std::span<double> out) {
    const auto& mine = *static_cast<const PythonRanker*>(self);
    if (!raised) {
      const py::gil_scoped_acquire held;
      try {
        while (!nodes.empty()) {
          const std::size_t count = std::min(nodes.size(), kBlock);
          mine.call_block(nodes.first(count), task, out.first(count));
          nodes = nodes.subspan(count), out = out.subspan(count);
        }
        return;
      } catch (...) {
        raised = std::current_exception();
      }
    }
    std::fill(out.begin(), out.end(), 0.0);
  }

  void call_block(std::span<const strategy::Node> nodes, const strategy::TaskClass& task, std::span<double> out) const {
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
  // Reused from call to call; the interpreter's lock guards them.
  mutable std::unique_ptr<Block> block_;
  mutable py::object task_;
  mutable strategy::Amounts ask_{};
  mutable std::int32_t gpus_ = 0, gpu_milli_ = 0, priority_ = 0;
};

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

/// One run of a comparison: metrics by the names that `berth compare` gives them, and the digest of the placements.
py::tuple pack_workload(const std::string& workload, const std::string& label, std::int64_t seed,
                        const py::object& strategy) {
  const bool named = py::isinstance<py::str>(strategy);
  if (!named && !PyCallable_Check(strategy.ptr()))
    throw py::type_error("strategy: has to be a name or a function of (nodes, task)");
  const std::string name =
      named ? strategy.cast<std::string>() : add_function(py::reinterpret_borrow<py::function>(strategy));
  const auto run = [&] {
    const py::gil_scoped_release release;
    return pack(workload, label, seed, name);
  }();
  rethrow_raised();
  if (!run) fail(run.error());
  using berth::strategy::kCpu, berth::strategy::kDisk, berth::strategy::kGpu, berth::strategy::kMemory;
  py::dict metrics;
  metrics["placed_percent"] = run->placed_percent;
  metrics["priority_placed_percent"] = run->priority_placed_percent;
  metrics["cpu_percent"] = run->used_percent[kCpu], metrics["memory_percent"] = run->used_percent[kMemory];
  metrics["disk_percent"] = run->used_percent[kDisk], metrics["gpu_percent"] = run->used_percent[kGpu];
  metrics["fragmentation_percent"] = run->fragmentation_percent;
  metrics["gpu_fragment_percent"] = run->gpu_fragment_percent;
  metrics["stranded_cpu_percent"] = run->stranded_percent[kCpu];
  metrics["stranded_memory_percent"] = run->stranded_percent[kMemory];
  metrics["nodes_used_percent"] = run->nodes_used_percent, metrics["balance_points"] = run->balance_points;
  metrics["decisions_per_s"] = run->decisions_per_s;
  metrics["latency_p50_ns"] = run->latency_p50_ns, metrics["latency_p99_ns"] = run->latency_p99_ns;
  metrics["latency_p999_ns"] = run->latency_p999_ns;
  return py::make_tuple(metrics, run->digest);
}

}  // namespace

std::string add_function(const py::function& function) {
  static std::atomic<int> number{0};
  const std::string name = "python-" + std::to_string(++number);
  // The registry outlives the interpreter: what it holds is never destroyed.
  auto* const kept = new py::object(function);
  strategy::registry().add(
      strategy::StrategyInfo{.name = name,
                             .formula = "a Python function",
                             .source = "user",
                             .cost = "one call per block of nodes",
                             .make = [kept](const strategy::Context&, const strategy::Parameters&,
                                            const strategy::Registry&) -> Result<std::unique_ptr<strategy::Ranker>> {
                               const py::gil_scoped_acquire held;
                               return std::make_unique<PythonRanker>(*kept);
                             }});
  return name;
}

void rethrow_raised() {
  if (!raised) return;
  const std::exception_ptr error = std::exchange(raised, nullptr);
  std::rethrow_exception(error);
}

void bind_strategies(py::module_& module) {
  module.def("strategies", &list_strategies);
  module.def("pack", &pack_workload, py::arg("workload"), py::arg("label"), py::arg("seed"), py::arg("strategy"));
}

}  // namespace berth::python
