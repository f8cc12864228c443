#include "compare/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/text.h"
#include "compare/parallel.h"
#include "compare/statistics.h"
#include "compare/tables.h"

namespace berth::compare {
namespace {

struct Policy {
  const char *strategy, *published;
};
constexpr Policy kPolicies[] = {
    {"random", "01-Random"},          {"dot-product", "02-DotProd"},  {"gpu-clustering", "03-GpuClustering"},
    {"gpu-packing", "04-GpuPacking"}, {"gpu-best-fit", "05-BestFit"}, {"fgd", "06-FGD"}};

/// Digests of all placements, from the specification (R-STRAT-608). A digest checks every single placement; the
/// published averages do not.
struct KnownDigest {
  const char* list;
  std::int64_t seed;
  const char *fgd, *best_fit, *packing, *clustering, *dot_product;
};
constexpr KnownDigest kDigests[] = {
    {"openb_pod_list_default", 42, "5d00abd03cafdbe6", "c6c83a94f8161102", "248133af2e7028c3", "79fc2d352000008f",
     "ad16db8bae772c1e"},
    {"openb_pod_list_default", 43, "6940e0bb817413bc", "2d310989e269dfae", "fb4e03a803129ee9", "dfab39c64f37984d",
     "84ce628c6c6e980a"},
    {"openb_pod_list_default", 51, "b3d89da22a5be467", "51952208c4ee1589", "c18d0ca1427a6dd1", "f912128fadceb262",
     "ab2bc03231d228be"},
    {"openb_pod_list_cpu050", 42, "a96e90d0fb6532ce", "57c6cb31d439f5b4", "2dfed01e9ddc48b7", "b7ef59622b8f50e3",
     "f5f79857150703ea"},
    {"openb_pod_list_cpu050", 43, "3db9581380214e80", "94cd5042e50a66d2", "622b080983229ed2", "5c02073356a5e9a7",
     "6f50fb06a3579062"},
    {"openb_pod_list_cpu050", 51, "bd1b63d6d0bb0845", "4b222e9a893621ab", "9c9e733f97b97a55", "6d49b3c6efb04581",
     "5256e5f99b4c9b59"},
};

const char* known_digest(const std::string& list, std::int64_t seed, const std::string& strategy) {
  for (const KnownDigest& known : kDigests) {
    if (known.list != list || known.seed != seed) continue;
    if (strategy == "fgd") return known.fgd;
    if (strategy == "gpu-best-fit") return known.best_fit;
    if (strategy == "gpu-packing") return known.packing;
    if (strategy == "gpu-clustering") return known.clustering;
    if (strategy == "dot-product") return known.dot_product;
  }
  return nullptr;
}

const PublishedRow* find_row(const std::vector<PublishedRow>& rows, const std::string& list, const std::string& policy,
                             std::int64_t seed) {
  for (const PublishedRow& row : rows)
    if (row.list == list && row.policy == policy && row.seed == seed) return &row;
  return nullptr;
}

/// Column `percent` of a strategy for all seeds.
std::vector<double> column_of(const ExperimentResult& result, std::size_t strategy, std::size_t percent,
                              std::vector<double> packing::OpenbSeries::*series) {
  std::vector<double> out;
  for (std::size_t seed = 0; seed < result.seeds.size(); ++seed) {
    const auto& values = result.run(strategy, seed).series.*series;
    if (percent < values.size() && !std::isnan(values[percent])) out.push_back(values[percent]);
  }
  return out;
}

double rate_of(const ExperimentResult& result, std::size_t strategy) {
  double arrivals = 0, seconds = 0;
  for (std::size_t seed = 0; seed < result.seeds.size(); ++seed) {
    arrivals += static_cast<double>(result.run(strategy, seed).arrivals);
    seconds += result.run(strategy, seed).decide_s;
  }
  return seconds == 0 ? 0 : arrivals / seconds;
}

sim::Histogram latency_of(const ExperimentResult& result, std::size_t strategy) {
  sim::Histogram sum;
  for (std::size_t seed = 0; seed < result.seeds.size(); ++seed) sum.add(result.run(strategy, seed).latency);
  return sum;
}

}  // namespace

std::string published_name(const std::string& strategy) {
  for (const Policy& policy : kPolicies)
    if (strategy == policy.strategy) return policy.published;
  return "";
}

std::string from_published_name(const std::string& text) {
  const auto same = [](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
    });
  };
  for (const Policy& policy : kPolicies)
    if (same(text, policy.published) || same(text, std::string_view(policy.published).substr(3)))
      return policy.strategy;
  return text;
}

Result<ExperimentResult> run_experiment(const packing::OpenbInput& input, std::string list,
                                        const ExperimentOptions& options) {
  ExperimentResult out;
  out.list = std::move(list), out.nodes = input.nodes.size(), out.tasks = input.tasks.size(), out.gpus = input.gpus;
  out.seeds = options.seeds;
  for (const auto& spec : options.strategies) out.strategies.push_back(spec.text());
  const std::size_t seeds = out.seeds.size(), total = out.strategies.size() * seeds;
  out.runs.resize(total);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<packing::OpenbOrder> orders(seeds);
  const auto prepared = run_all(seeds, options.threads, "seeds", true, [&](std::size_t seed) -> Result<void> {
    auto order = packing::openb_order(input, out.seeds[seed], options.tune_milli);
    if (!order) return tl::unexpected(order.error());
    orders[seed] = std::move(*order);
    return {};
  });
  if (!prepared) return tl::unexpected(prepared.error());
  const auto done = run_all(*prepared == seeds ? total : 0, options.threads, "runs", options.quiet,
                            [&](std::size_t i) -> Result<void> {
                              auto run = packing::openb_run(input, orders[i % seeds], out.seeds[i % seeds],
                                                            strategy::registry(), options.strategies[i / seeds]);
                              if (!run) return tl::unexpected(run.error());
                              out.runs[i] = std::move(*run);
                              out.runs[i].strategy = out.strategies[i / seeds];
                              return {};
                            });
  if (!done) return tl::unexpected(done.error());
  out.partial = *done != total;
  out.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

Result<std::vector<PublishedRow>> parse_published(std::string_view text, const std::string& path) {
  std::vector<PublishedRow> out;
  std::vector<std::string> header;
  std::size_t number = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    ++number;
    const auto bad = [&](const std::string& column, std::string problem) {
      return tl::unexpected(
          InputError{path, column.empty() ? fmt::format("{}", number) : fmt::format("{}:{}", number, column),
                     std::move(problem), "fetch the file again: datasets/fetch.sh openb"});
    };
    if (line.empty()) continue;
    const auto fields = base::split(line, ',');
    if (header.empty()) {
      header.assign(fields.begin(), fields.end());
      for (const char* needed : {"workload", "sc_policy", "seed", "0", "130"})
        if (std::find(header.begin(), header.end(), needed) == header.end())
          return bad("", fmt::format("has no column '{}'", needed));
      continue;
    }
    if (fields.size() != header.size())
      return bad("", fmt::format("has {} fields instead of {}", fields.size(), header.size()));
    PublishedRow row;
    row.columns.assign(131, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (header[i] == "workload") {
        row.list = fields[i];
      } else if (header[i] == "sc_policy") {
        row.policy = fields[i];
      } else if (const auto percent = base::parse_uint64(header[i])) {
        const auto value = base::parse_double(fields[i]);
        if (!value) return bad(header[i], "is not a number");
        if (*percent < row.columns.size()) row.columns[*percent] = *value;
      } else if (header[i] == "seed") {
        const auto seed = base::parse_int64(fields[i]);
        if (!seed) return bad(header[i], "is not a whole number");
        row.seed = *seed;
      }
    }
    out.push_back(std::move(row));
  }
  return out;
}

namespace {
void add_to(std::vector<double>& sum, const std::vector<double>& values) {
  sum.resize(values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}
}  // namespace

json::Value curve_json(const std::vector<double>& values) {
  json::Value list = json::Value::array();
  for (const double value : values) list.push(std::isnan(value) ? json::Value() : json::Value(value));
  return list;
}

bool Agreement::holds() const {
  if (!digests_wrong.empty()) return false;
  if (deterministic) return rows_equal == rows;
  return rows == 0 ||
         (std::abs(mean_100 - mean_100_published) <= 0.5 && std::abs(mean_final - mean_final_published) <= 0.5);
}

std::vector<Agreement> check_published(const ExperimentResult& result, const std::vector<PublishedRow>& allocation,
                                       const std::vector<PublishedRow>& ratio) {
  constexpr double kSameRatio = 1e-9;  // R-STRAT-612
  std::vector<Agreement> out;
  for (std::size_t s = 0; s < result.strategies.size(); ++s) {
    const std::string policy = published_name(result.strategies[s]);
    if (policy.empty()) continue;
    Agreement a{.list = result.list, .strategy = result.strategies[s], .deterministic = policy != "01-Random"};
    std::vector<double> own_100, own_final, published_100, published_final;
    std::size_t ratio_rows = 0;
    for (std::size_t seed = 0; seed < result.seeds.size(); ++seed) {
      const packing::OpenbRun& run = result.run(s, seed);
      if (const char* known = known_digest(result.list, result.seeds[seed], result.strategies[s])) {
        ++a.digests;
        if (run.digest != known) a.digests_wrong.push_back(std::to_string(result.seeds[seed]));
      }
      const PublishedRow* row = find_row(allocation, result.list, policy, result.seeds[seed]);
      if (!row || run.series.allocation.size() != row->columns.size()) continue;
      ++a.rows;
      bool equal = true;
      const auto compare = [&](const std::vector<double>& own, const std::vector<double>& published, double tolerance,
                               double& gap) {
        for (std::size_t c = 0; c < own.size(); ++c) {
          const double distance = std::abs(own[c] - published[c]);
          ++a.columns;
          if (distance <= tolerance)
            ++a.columns_equal;
          else
            equal = false;
          gap = std::max(gap, std::isnan(distance) ? 100 : distance);
        }
      };
      compare(run.series.allocation, row->columns, 0, a.allocation_gap);
      add_to(a.allocation_published, row->columns);
      if (const PublishedRow* ratios = find_row(ratio, result.list, policy, result.seeds[seed])) {
        compare(run.series.fragment_ratio, ratios->columns, kSameRatio, a.ratio_gap);
        add_to(a.ratio_published, ratios->columns);
        ++ratio_rows;
      }
      a.rows_equal += equal;
      own_100.push_back(run.series.allocation[100]), published_100.push_back(row->columns[100]);
      own_final.push_back(run.series.allocation[130]), published_final.push_back(row->columns[130]);
    }
    for (double& value : a.allocation_published) value /= static_cast<double>(a.rows);
    for (double& value : a.ratio_published) value /= static_cast<double>(ratio_rows);
    a.mean_100 = summarise(own_100).mean, a.mean_100_published = summarise(published_100).mean;
    a.mean_final = summarise(own_final).mean, a.mean_final_published = summarise(published_final).mean;
    out.push_back(std::move(a));
  }
  return out;
}

namespace {
/// Mean and deviation of one strategy at one percentage.
std::string cell_of(const ExperimentResult& result, std::size_t strategy, std::size_t percent,
                    std::vector<double> packing::OpenbSeries::*series) {
  return plus_minus(summarise(column_of(result, strategy, percent, series)), 2);
}
}  // namespace

std::string experiment_table(const ExperimentResult& result, std::size_t width) {
  using Series = packing::OpenbSeries;
  TableRows rows = {{"strategy", "allocated 100", "allocated end", "fragments 50", "fragments 100", "kW 50",
                     "decisions/s", "p50 us", "p99 us"}};
  for (std::size_t s = 0; s < result.strategies.size(); ++s) {
    const sim::Histogram latency = latency_of(result, s);
    rows.push_back({result.strategies[s], cell_of(result, s, 100, &Series::allocation),
                    cell_of(result, s, 130, &Series::allocation), cell_of(result, s, 50, &Series::fragment_ratio),
                    cell_of(result, s, 100, &Series::fragment_amount), cell_of(result, s, 50, &Series::power_kw),
                    fmt::format("{:.0f}", rate_of(result, s)),
                    fmt::format("{:.2f}", static_cast<double>(latency.percentile(50)) / 1e3),
                    fmt::format("{:.2f}", static_cast<double>(latency.percentile(99)) / 1e3)});
  }
  return fmt::format("{}{}: {} nodes, {} GPUs, {} tasks; {} seeds; mean ± standard deviation\n", result.list,
                     result.partial ? " (PARTIAL: interrupted)" : "", result.nodes, result.gpus, result.tasks,
                     result.seeds.size()) +
         text_table(rows, width) +
         "  allocated: % of all GPUs when 100 % (and at the end 130 %) of them were requested; fragments 50: % of the "
         "idle\n"
         "  GPU that a typical task cannot use at 50 %; fragments 100: the same at 100 % in % of all GPUs; kW 50: "
         "power\n"
         "  of all nodes at 50 %\n" +
         fmt::format("  {} runs in {:.2f} s\n", result.runs.size(), result.elapsed_s);
}

std::string agreement_table(const std::vector<Agreement>& agreement, std::size_t width) {
  TableRows rows = {{"published rows", "strategy", "rows equal", "columns equal", "digests", "gap", "verdict",
                     "means at 100 and the end (published)"}};
  for (const Agreement& a : agreement) {
    const char* const verdict = a.rows == 0 && a.holds() ? "no published rows"
                                : !a.holds()             ? "DIFFERS"
                                : a.deterministic        ? "equal"
                                                         : "within 0.5";
    rows.push_back({a.list, a.strategy, a.deterministic ? fmt::format("{} of {}", a.rows_equal, a.rows) : "by mean",
                    fmt::format("{} of {}", a.columns_equal, a.columns),
                    a.digests == 0 ? "-" : fmt::format("{} of {}", a.digests - a.digests_wrong.size(), a.digests),
                    fmt::format("{:.3g}", std::max(a.allocation_gap, a.ratio_gap)), verdict,
                    a.rows == 0 ? "-"
                                : fmt::format("{:.2f}, {:.2f} ({:.2f}, {:.2f})", a.mean_100, a.mean_final,
                                              a.mean_100_published, a.mean_final_published)});
  }
  return text_table(rows, width);
}

std::string digest_lines(const ExperimentResult& result) {
  std::string out;
  for (std::size_t s = 0; s < result.strategies.size(); ++s)
    for (std::size_t seed = 0; seed < result.seeds.size(); ++seed)
      out += fmt::format("{} {} {} {}\n", result.list, result.strategies[s], result.seeds[seed],
                         result.run(s, seed).digest);
  return out;
}

json::Value experiment_json(const ExperimentResult& result) {
  json::Value out = json::Object{{"list", result.list},   {"nodes", result.nodes},     {"gpus", result.gpus},
                                 {"tasks", result.tasks}, {"partial", result.partial}, {"elapsed_s", result.elapsed_s}};
  json::Value runs = json::Value::array();
  for (const packing::OpenbRun& run : result.runs) {
    if (run.digest.empty()) continue;
    json::Value one = json::Object{
        {"strategy", run.strategy}, {"seed", run.seed}, {"arrivals", run.arrivals}, {"placed", run.placed}};
    json::Value failed = json::Value::object();
    for (const auto& [kind, count] : run.failed) failed.set(kind, count);
    one.set("failed", std::move(failed));
    one.set("allocated_milli", run.allocated_milli);
    one.set("idle_milli", run.idle_milli);
    one.set("fragment_milli", run.fragment);
    json::Value cases = json::Value::object();
    static const char* const kNames[] = {"Q1", "Q2", "Q3", "Q4", "XL", "XR", "NA"};
    for (std::size_t c = 0; c < run.cases.size(); ++c) cases.set(kNames[c], run.cases[c]);
    one.set("cases_milli", std::move(cases));
    one.set("cpu_used_milli", run.cpu_used);
    one.set("memory_used_mib", run.memory_used);
    one.set("devices_used", run.devices_used);
    one.set("nodes_used", run.nodes_used);
    one.set("placements_digest", run.digest);
    one.set("decisions_per_s", run.decide_s == 0 ? 0.0 : static_cast<double>(run.arrivals) / run.decide_s);
    json::Value latency = json::Value::object();
    for (const auto& [name, percent] : {std::pair{"p50", 50.0}, {"p99", 99.0}, {"p999", 99.9}})
      latency.set(name, run.latency.percentile(percent));
    one.set("latency_ns", std::move(latency));
    one.set("allocation_percent", curve_json(run.series.allocation));
    one.set("fragment_amount_percent", curve_json(run.series.fragment_amount));
    one.set("fragment_ratio_percent", curve_json(run.series.fragment_ratio));
    one.set("power_kw", curve_json(run.series.power_kw));
    runs.push(std::move(one));
  }
  out.set("runs", std::move(runs));
  return out;
}

std::string curves_csv(const ExperimentResult& result) {
  std::string out =
      "list,strategy,seed,arrived_percent,allocation_percent,fragment_amount_percent,fragment_ratio_percent,"
      "power_kw\n";
  const auto cell = [](double value) { return std::isnan(value) ? std::string() : fmt::format("{}", value); };
  for (const packing::OpenbRun& run : result.runs)
    for (std::size_t percent = 0; percent < run.series.allocation.size(); ++percent)
      out += fmt::format("{},{},{},{},{},{},{},{}\n", result.list, csv_cell(run.strategy), run.seed, percent,
                         cell(run.series.allocation[percent]), cell(run.series.fragment_amount[percent]),
                         cell(run.series.fragment_ratio[percent]), cell(run.series.power_kw[percent]));
  return out;
}

std::string experiment_markdown(const ExperimentResult& result, const std::vector<Agreement>& agreement) {
  using Series = packing::OpenbSeries;
  TableRows rows = {{result.list, "allocated at 100 %", "at the end", "fragments at 50 %", "published rows equal"}};
  for (std::size_t s = 0; s < result.strategies.size(); ++s) {
    std::string equal = "-";
    for (const Agreement& a : agreement)
      if (a.list == result.list && a.strategy == result.strategies[s])
        equal = a.deterministic ? fmt::format("{} of {}", a.rows_equal, a.rows)
                                : fmt::format("means {}", a.holds() ? "within 0.5" : "differ");
    rows.push_back({result.strategies[s], cell_of(result, s, 100, &Series::allocation),
                    cell_of(result, s, 130, &Series::allocation), cell_of(result, s, 50, &Series::fragment_ratio),
                    equal});
  }
  return markdown_table(rows);
}

}  // namespace berth::compare
