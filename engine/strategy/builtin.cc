#include "strategy/builtin.h"

#include <fmt/format.h>

#include <cmath>

#include "strategy/classic.h"
#include "strategy/expression.h"
#include "strategy/gpu_policies.h"
#include "strategy/lifetime_strategies.h"
#include "strategy/prediction.h"
#include "strategy/pwr.h"
#include "strategy/sampling.h"

namespace berth::strategy {
namespace {

using Made = Result<std::unique_ptr<Ranker>>;

const char* const kWeng = "Weng et al., USENIX ATC 2023";
const char* const kPanigrahy = "Panigrahy, Talwar, Uyeda, Wieder, Microsoft Research 2011";
const char* const kKubernetes = "Kubernetes, NodeResourcesFit";

ParameterInfo device_parameter() {
  return {"device", "best", "which device a task with part of a GPU takes", {"best", "worst", "first"}};
}
DeviceRule device_rule(const Parameters& p) {
  const std::string& word = p.word("device");
  return word == "worst" ? DeviceRule::worst : word == "first" ? DeviceRule::first : DeviceRule::best;
}

void append_scale(std::vector<ParameterInfo>& to, const char* norm) {
  to.push_back({"norm",
                norm,
                "amounts are divided by the node's, the greatest, or the reference capacity",
                {"node", "max", "reference"}});
  for (const char* name : {"cpu", "memory", "disk", "gpu"})
    to.push_back(
        {fmt::format("w-{}", name), "-1", "weight of the dimension; -1 = 1 / number of dimensions", {}, -1, 1e9});
}
/// Default weights are 1 / |D|, D = the dimensions in which any node has capacity.
Scale scale_of(const Context& context, const Parameters& p, bool unit_weights = false) {
  Scale out;
  const std::string& norm = p.word("norm");
  out.norm = norm == "max" ? Scale::Norm::max : norm == "reference" ? Scale::Norm::reference : Scale::Norm::node;
  double dimensions = 0;
  for (std::size_t d = 0; d < kDimensions; ++d) {
    dimensions += context.capacity_max[d] > 0;
    out.fixed[d] =
        out.norm == Scale::Norm::reference && context.reference[d] > 0 ? context.reference[d] : context.capacity_max[d];
  }
  static const char* const kNames[] = {"w-cpu", "w-memory", "w-disk", "w-gpu"};
  for (std::size_t d = 0; d < kDimensions; ++d) {
    const double weight = p.number(kNames[d]);
    out.weight[d] = weight >= 0 ? weight : unit_weights ? 1 : dimensions > 0 ? 1 / dimensions : 0;
  }
  return out;
}

template <class Make>
void add_scaled(Registry& into, const char* name, const char* formula, const char* source, Make make) {
  StrategyInfo info{.name = name, .formula = formula, .source = source, .cost = "O(dimensions) per changed node"};
  append_scale(info.parameters, "node");
  info.parameters.push_back(device_parameter());
  info.make = [make](const Context& context, const Parameters& p, const Registry&) -> Made {
    return make(scale_of(context, p), device_rule(p));
  };
  into.add(std::move(info));
}

template <class S>
void add_plain(Registry& into, const char* name, const char* formula, const char* source, const char* cost,
               S strategy) {
  into.add(StrategyInfo{.name = name,
                        .formula = formula,
                        .source = source,
                        .cost = cost,
                        .parameters = {device_parameter()},
                        .make = [strategy](const Context&, const Parameters& p, const Registry&) -> Made {
                          return make_ranker(strategy, device_rule(p));
                        }});
}

Result<Draw> draw_of(const Context& context, const char* name) {
  if (context.draw) return context.draw;
  return tl::unexpected(InputError{fmt::format("strategy '{}'", name), "", "draws random numbers and has no source",
                                   "set Context::draw"});
}

/// Error unless the workload gives the power of its nodes.
Result<void> need_power(const Context& context, const char* name) {
  if (context.rates && context.rates->power) return {};
  return tl::unexpected(InputError{fmt::format("strategy '{}'", name), "", "the power of the nodes is not known",
                                   "write 'power' in [[cluster.shapes]], and use `berth compare` or berth.evaluate"});
}

void add_pwr(Registry& into) {
  into.add(StrategyInfo{
      .name = "pwr",
      .formula = "least added watts, truncated; with fgd=W: (1 - W) x (this score, scaled to 0..100) + W x fgd",
      .source = "Lettich et al., CCGrid 2025, arXiv 2412.17484",
      .cost = "O(devices) per changed node; with fgd also O(nodes)",
      .parameters = {{"fgd", "0", "weight of fgd, rounded to thousandths; fgd then chooses the GPU", {}, 0, 1}},
      .make = [](const Context& context, const Parameters& p, const Registry&) -> Made {
        if (auto known = need_power(context, "pwr"); !known) return tl::unexpected(known.error());
        const auto weight = static_cast<std::int32_t>(std::lround(p.number("fgd") * 1000));
        if (weight == 0) return make_ranker(Pwr(context.rates));
        if (!context.fragments)
          return tl::unexpected(InputError{"strategy 'pwr'", "", "has no typical workload", "set Context::fragments"});
        return make_pwr_with_fgd(Pwr(context.rates), Fgd(context.fragments), weight);
      }});
}

void add_gpu_policies(Registry& into) {
  into.add(StrategyInfo{.name = "random",
                        .formula = "a feasible node uniformly, then a fitting device uniformly",
                        .source = kWeng,
                        .cost = "O(nodes / 64)",
                        .samples = true,
                        .make = [](const Context& context, const Parameters&, const Registry&) -> Made {
                          auto draw = draw_of(context, "random");
                          if (!draw) return tl::unexpected(draw.error());
                          return make_random(std::move(*draw));
                        }});
  into.add(StrategyInfo{
      .name = "dot-product",
      .formula = "trunc(100 (1 - d/2)), d = free . request over cpu and GPU by their references; least d first",
      .source = kWeng,
      .cost = "O(1) per changed node; methods other than merge O(devices)",
      .parameters = {{"method", "merge", "how devices become dimensions", {"merge", "share", "divide", "extend"}},
                     {"norm", "max", "what vectors are divided by", {"max", "node", "pod"}},
                     device_parameter()},
      .make = [](const Context&, const Parameters& p, const Registry&) -> Made {
        if (p.word("method") == "merge" && p.word("norm") == "max") return make_ranker(DotProduct{}, device_rule(p));
        using By = DotProductBy;
        const auto method = p.word("method") == "share"    ? By::Method::share
                            : p.word("method") == "divide" ? By::Method::divide
                            : p.word("method") == "extend" ? By::Method::extend
                                                           : By::Method::merge;
        const auto norm = p.word("norm") == "node"  ? By::Norm::node
                          : p.word("norm") == "pod" ? By::Norm::pod
                                                    : By::Norm::max;
        return make_ranker(By(method, norm), device_rule(p));
      }});
  add_plain(into, "gpu-clustering",
            "25 (8000 - I) div 8000, + 75 on nodes with tasks of the same GPU kind only, 50 among others, 25 on unused",
            kWeng, "O(1) per changed node", GpuClustering{});
  add_plain(into, "gpu-packing", "devices in use before free devices before free nodes", kWeng,
            "O(devices) per changed node", GpuPacking{});
  add_plain(into, "gpu-best-fit", "trunc(100 (1 - r)), r = mean of what is left of cpu / 128 and GPU / 8", kWeng,
            "O(1) per changed node", GpuBestFit{});
  into.add(StrategyInfo{
      .name = "fgd",
      .formula = "trunc(100 sigmoid((F - F') / 1000)), F = idle GPU that a typical task cannot use",
      .source = kWeng,
      .cost = "O(devices^2) per changed node by tables, exact sums over the typical classes near a step",
      .make = [](const Context& context, const Parameters&, const Registry&) -> Made {
        if (!context.fragments)
          return tl::unexpected(InputError{"strategy 'fgd'", "", "has no typical workload", "set Context::fragments"});
        return make_ranker(Fgd(context.fragments));
      }});
  add_pwr(into);
}

void add_classic(Registry& into) {
  add_plain(into, "first-fit", "the first feasible node in visiting order", "Johnson et al., SIAM J. Comput. 3, 1974",
            "O(blocks of 64 nodes)", FirstFit{});
  into.add(StrategyInfo{.name = "next-fit",
                        .formula = "as first-fit, from the node of the previous placement on",
                        .source = "Johnson et al., SIAM J. Comput. 3, 1974",
                        .cost = "O(nodes walked)",
                        .parameters = {device_parameter()},
                        .make = [](const Context&, const Parameters& p, const Registry&) -> Made {
                          return make_next_fit(device_rule(p));
                        }});
  into.add(StrategyInfo{.name = "random-fit",
                        .formula = "uniform over the feasible nodes by one reservoir pass",
                        .source = "folklore",
                        .cost = "a draw per feasible node",
                        .parameters = {device_parameter()},
                        .samples = true,
                        .make = [](const Context& context, const Parameters& p, const Registry&) -> Made {
                          auto draw = draw_of(context, "random-fit");
                          if (!draw) return tl::unexpected(draw.error());
                          return make_random_fit(std::move(*draw), device_rule(p));
                        }});
  const char* const folklore = "Johnson et al., SIAM J. Comput. 3, 1974; several dimensions: folklore";
  add_scaled(into, "best-fit", "min sum w (F - a) / N", folklore,
             [](Scale s, DeviceRule r) { return make_ranker(BestFit{s}, r); });
  add_scaled(into, "worst-fit", "max sum w (F - a) / N", folklore,
             [](Scale s, DeviceRule r) { return make_ranker(WorstFit{s}, r); });
  add_plain(into, "least-max", "min of the greatest (U + a) / C", "folklore: least loaded",
            "O(dimensions) per changed node", LeastMax{});
  add_scaled(into, "tetris", "max sum w (a / N)(F / N)", "Grandl et al., SIGCOMM 2014",
             [](Scale s, DeviceRule r) { return make_ranker(Tetris{s}, r); });
  add_scaled(into, "cosine", "max (a . F) / (|a| |F|) over a / N, F / N", kPanigrahy,
             [](Scale s, DeviceRule r) { return make_ranker(Cosine{s}, r); });
  {
    StrategyInfo info{.name = "l2",
                      .formula = "min sum w ((F - a) / N)^2",
                      .source = kPanigrahy,
                      .cost = "O(dimensions) per changed node"};
    append_scale(info.parameters, "node");
    info.parameters.push_back(
        {"weights", "demand", "without w-...: the workload's mean ask / N, or 1", {"demand", "one"}});
    info.parameters.push_back(device_parameter());
    info.make = [](const Context& context, const Parameters& p, const Registry&) -> Made {
      Scale scale = scale_of(context, p, true);
      static const char* const kNames[] = {"w-cpu", "w-memory", "w-disk", "w-gpu"};
      if (p.word("weights") == "demand")
        for (std::size_t d = 0; d < kDimensions; ++d)
          if (p.number(kNames[d]) < 0 && context.capacity_max[d] > 0)
            scale.weight[d] = context.demand_mean[d] / context.capacity_max[d];
      return make_ranker(L2{scale}, device_rule(p));
    };
    into.add(std::move(info));
  }
  add_plain(into, "dominating-share", "max of the greatest a / (C - a), x100 rounded; ignores use", "open-simulator",
            "O(dimensions) per changed node", DominatingShare{});
  add_plain(into, "nomad-binpack", "clamp(20 - 10^free_cpu - 10^free_memory, 0, 18) / 18", "Nomad, scoring of nodes",
            "two powers of ten per changed node", NomadFit<rank::FitAlgorithm::binpack>{});
  add_plain(into, "nomad-spread", "clamp(10^free_cpu + 10^free_memory - 2, 0, 18) / 18", "Nomad, scoring of nodes",
            "two powers of ten per changed node", NomadFit<rank::FitAlgorithm::spread>{});
}

std::vector<ParameterInfo> kubernetes_parameters() {
  std::vector<ParameterInfo> out;
  for (const char* name : {"w-cpu", "w-memory", "w-disk", "w-gpu"})
    out.push_back({name,
                   name == std::string("w-cpu") || name == std::string("w-memory") ? "1" : "0",
                   "weight of the resource",
                   {},
                   0,
                   1000});
  out.push_back({"version", "current", "1.20 counts resources without capacity", {"current", "1.20"}});
  out.push_back(device_parameter());
  return out;
}
KubernetesResources kubernetes_resources(const Parameters& p) {
  KubernetesResources out;
  static const char* const kNames[] = {"w-cpu", "w-memory", "w-disk", "w-gpu"};
  for (std::size_t d = 0; d < kDimensions; ++d) out.weight[d] = static_cast<std::int32_t>(p.number(kNames[d]));
  out.old = p.word("version") == "1.20";
  return out;
}
template <class S>
void add_kubernetes(Registry& into, const char* name, const char* formula) {
  into.add(StrategyInfo{.name = name,
                        .formula = formula,
                        .source = kKubernetes,
                        .cost = "O(dimensions) per changed node",
                        .parameters = kubernetes_parameters(),
                        .make = [](const Context&, const Parameters& p, const Registry&) -> Made {
                          return make_ranker(S{kubernetes_resources(p)}, device_rule(p));
                        }});
}

/// Strategies with scores, which can be sampled or summed.
const std::vector<std::string> kInner = {"best-fit",
                                         "worst-fit",
                                         "least-max",
                                         "tetris",
                                         "cosine",
                                         "l2",
                                         "dominating-share",
                                         "nomad-binpack",
                                         "nomad-spread",
                                         "first-fit",
                                         "least-allocated",
                                         "most-allocated",
                                         "balanced-allocation",
                                         "requested-to-capacity",
                                         "kubernetes-default",
                                         "gpu-best-fit",
                                         "gpu-packing",
                                         "gpu-clustering",
                                         "dot-product",
                                         "fgd",
                                         "pwr"};

void add_sampling(Registry& into) {
  into.add(StrategyInfo{.name = "power-of-k",
                        .formula = "the inner strategy among k feasible nodes drawn without replacement",
                        .source = "Mitzenmacher, IEEE TPDS 12, 2001; Ousterhout et al., SOSP 2013",
                        .cost = "inner, plus draws until k feasible ones are seen",
                        .parameters = {{"k", "2", "feasible nodes drawn", {}, 1, 1e9},
                                       {"inner", "least-max", "the strategy among them", kInner}},
                        .samples = true,
                        .make = [](const Context& context, const Parameters& p, const Registry& all) -> Made {
                          auto draw = draw_of(context, "power-of-k");
                          if (!draw) return tl::unexpected(draw.error());
                          auto inner = all.make({p.word("inner"), {}}, context);
                          if (!inner) return inner;
                          return make_power_of_k(static_cast<std::size_t>(p.number("k")), *draw, std::move(*inner));
                        }});
  into.add(StrategyInfo{.name = "nomad-limit",
                        .formula = "the inner strategy among the first L feasible nodes of a shuffled order",
                        .source = "Nomad, selection of nodes",
                        .cost = "inner, plus draws until L feasible ones are seen",
                        .parameters = {{"limit", "0", "L; 0 = max(2, ceil(log2 n)), batch jobs use 2", {}, 0, 1e9},
                                       {"inner", "nomad-binpack", "the strategy among them", kInner}},
                        .samples = true,
                        .make = [](const Context& context, const Parameters& p, const Registry& all) -> Made {
                          auto draw = draw_of(context, "nomad-limit");
                          if (!draw) return tl::unexpected(draw.error());
                          auto inner = all.make({p.word("inner"), {}}, context);
                          if (!inner) return inner;
                          return make_nomad_limit(static_cast<std::size_t>(p.number("limit")), *draw,
                                                  std::move(*inner));
                        }});
  into.add(StrategyInfo{.name = "kubernetes-sampling",
                        .formula = "the inner strategy among the next max(100, q % of n) feasible nodes, round-robin",
                        .source = "Kubernetes, percentageOfNodesToScore",
                        .cost = "inner, plus the nodes walked",
                        .parameters = {{"percent", "0", "q; 0 = max(5, 50 - n / 125)", {}, 0, 100},
                                       {"inner", "kubernetes-default", "the strategy among them", kInner}},
                        .make = [](const Context& context, const Parameters& p, const Registry& all) -> Made {
                          auto inner = all.make({p.word("inner"), {}}, context);
                          if (!inner) return inner;
                          return make_kubernetes_sampling(static_cast<std::size_t>(p.number("percent")),
                                                          std::move(*inner));
                        }});
  into.add(StrategyInfo{
      .name = "sum",
      .formula = "sum of weight * score of the named strategies, e.g. sum:cosine=1:best-fit=0.5",
      .source = "weighted sum of components",
      .cost = "O(nodes) per component",
      .parameters = {{"rescale", "no", "stretch each component over the feasible nodes to 0..1 first", {"no", "yes"}},
                     device_parameter()},
      .open_parameters = true,
      .make = [](const Context& context, const Parameters& p, const Registry& all) -> Made {
        std::vector<SumComponent> components;
        for (const auto& [name, value] : p.all()) {
          if (name == "rescale" || name == "device") continue;
          if (std::find(kInner.begin(), kInner.end(), name) == kInner.end() && all.find(name)->source != "user")
            return tl::unexpected(InputError{"strategy 'sum'", "", fmt::format("'{}' has no scores to add", name),
                                             "use a strategy that scores every node"});
          auto inner = all.make({name, {}}, context);
          if (!inner) return inner;
          components.push_back({std::move(*inner), p.number(name), name == "gpu-best-fit"});
        }
        if (components.empty())
          return tl::unexpected(
              InputError{"strategy 'sum'", "", "has no components", "write e.g. sum:cosine=1:best-fit=0.5"});
        return make_sum(std::move(components), p.word("rescale") == "yes", device_rule(p));
      }});
}

NilasOptions nilas_options(const Parameters& p) { return {.error = p.number("error"), .step_s = p.number("step")}; }
std::vector<ParameterInfo> lifetime_parameters() {
  return {error_parameter(),
          {"step", "900", "seconds that a task may outlast its node at cost 1; then 2, 4, 8 ... times", {}, 0.001, 1e9},
          {"inner", "best-fit", "the strategy among nodes of equal cost", kInner}};
}

void add_lifetime_strategies(Registry& into) {
  const char* const kLing = "Ling et al., LAVA, MLSys 2025";
  const auto add = [&](const char* name, const char* formula, std::vector<ParameterInfo> parameters, auto make) {
    into.add(
        StrategyInfo{.name = name,
                     .formula = formula,
                     .source = kLing,
                     .cost = "inner, plus a pass over all nodes",
                     .parameters = std::move(parameters),
                     .make = [name, make](const Context& context, const Parameters& p, const Registry& all) -> Made {
                       if (!context.run_times)
                         return tl::unexpected(InputError{fmt::format("strategy '{}'", name), "",
                                                          "reads run times, which are not predicted here",
                                                          "use it in berth compare --strategies"});
                       auto inner = all.make({p.word("inner"), {}}, context);
                       if (!inner) return inner;
                       return make(p, std::move(*inner));
                     }});
  };
  add("nilas", "least time by which the task outlasts the node's other tasks, in steps; then the inner strategy",
      lifetime_parameters(), [](const Parameters& p, std::unique_ptr<Ranker> inner) {
        return make_nilas(nilas_options(p), std::move(inner));
      });
  std::vector<ParameterInfo> parameters = lifetime_parameters();
  parameters.push_back(
      {"hour", "3600", "an hour in seconds; classes of run times: below 1, 10, 100 hours, longer", {}, 0.001, 1e9});
  parameters.push_back({"full", "0.9", "share of cpu, memory or GPUs in use from which a node is full", {}, 0, 1});
  add("lava", "nodes once full with a longer class, then open ones of the task's class, others, empty; then as nilas",
      std::move(parameters), [](const Parameters& p, std::unique_ptr<Ranker> inner) {
        return make_lava({nilas_options(p), p.number("hour"), p.number("full")}, std::move(inner));
      });
}

void add_expression(Registry& into) {
  StrategyInfo info{.name = "expr",
                    .formula = "a formula over columns, e.g. expr:-(left_cpu/total_cpu+left_memory/total_memory)",
                    .source = "user",
                    .cost = "the formula's operations per changed node, in blocks"};
  info.parameters.push_back({.name = "formula",
                             .fallback = "",
                             .meaning = "the score, greater is better",
                             .check = [](const std::string& text) -> Result<void> {
                               if (auto compiled = Expression::compile(text, {.run_times = true}); !compiled)
                                 return tl::unexpected(compiled.error());
                               return {};
                             },
                             .first = true});
  info.parameters.push_back(device_parameter());
  info.parameters.push_back(error_parameter());
  info.make = [](const Context& context, const Parameters& p, const Registry&) -> Made {
    const DeviceRule rule = device_rule(p);
    auto compiled = Expression::compile(p.word("formula"), context, rule, p.number("error"));
    if (!compiled) return tl::unexpected(compiled.error());
    if (compiled->reads_power())
      if (auto known = need_power(context, "expr"); !known) return tl::unexpected(known.error());
    return make_ranker(std::move(*compiled), rule);
  };
  into.add(std::move(info));
}

}  // namespace

void add_builtin(Registry& into) {
  add_gpu_policies(into);
  add_classic(into);
  add_kubernetes<LeastAllocated>(into, "least-allocated", "weighted mean of ((C - R) 100) div C");
  add_kubernetes<MostAllocated>(into, "most-allocated", "weighted mean of (min(R, C) 100) div C");
  add_kubernetes<BalancedAllocation>(into, "balanced-allocation", "trunc(100 (1 - deviation of R / C))");
  {
    std::vector<ParameterInfo> parameters = kubernetes_parameters();
    parameters.push_back({"points",
                          "0-0/100-10",
                          "utilisation-score points, utilisations of 0 to 100 ascending, scores of 0 to 10",
                          {},
                          0,
                          0,
                          [](const std::string& text) { return parse_points(text).has_value(); }});
    into.add(StrategyInfo{.name = "requested-to-capacity",
                          .formula = "weighted mean of a broken line over utilisation through points, times 10",
                          .source = kKubernetes,
                          .cost = "O(dimensions) per changed node",
                          .parameters = std::move(parameters),
                          .make = [](const Context&, const Parameters& p, const Registry&) -> Made {
                            return make_ranker(
                                RequestedToCapacityRatio{kubernetes_resources(p), *parse_points(p.word("points"))},
                                device_rule(p));
                          }});
  }
  add_kubernetes<KubernetesDefault>(into, "kubernetes-default", "least-allocated + balanced-allocation");
  add_expression(into);
  add_sampling(into);
  add_lifetime_strategies(into);
}

}  // namespace berth::strategy
