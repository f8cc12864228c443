// Checks of a node before scoring, and the scores of a window of prepared nodes. One item is one node, or one value
// tested by a constraint.
#include <bit>
#include <map>
#include <random>
#include <string>
#include <unordered_map>

#include "feasible/class_cache.h"
#include "feasible/distinct.h"
#include "match/operand.h"
#include "micro/micro.h"
#include "rank/window.h"

namespace berth::micro {
namespace {

/// Times one pass over all nodes, or values, which counts those that pass.
template <class Count>
void time_passing(benchmark::State& state, std::size_t expected, const Count& count) {
  if (count() != expected) return wrong_answer(state, "another number of them passes");
  for (auto _ : state) benchmark::DoNotOptimize(count());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// ---------------------------------------------------------------- final scores of a window

struct Window {
  std::vector<double> prefix, appended, spread, spread_total, value;
  std::vector<std::uint32_t> code;
  explicit Window(std::size_t n) : prefix(n), appended(n), spread(64), spread_total(n), value(n), code(n) {
    std::mt19937_64 random(13);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (double& s : spread) s = uniform(random);
    for (std::size_t i = 0; i < n; ++i)
      prefix[i] = uniform(random), appended[i] = random() % 10 == 0 ? 0 : 2, code[i] = random() % 64;
  }
  rank::WindowColumns columns() {
    return {prefix.data(), appended.data(), code.data(), spread.data(), spread_total.data()};
  }
  struct Counts {
    std::size_t exhausted = 0, decisive = 0;
  };
  /// One after the other: the same counts.
  Counts loop() {
    Counts out;
    for (std::size_t i = 0; i < prefix.size(); ++i) {
      const double total = spread[code[i]];
      spread_total[i] = total;
      if (appended[i] == 0) {
        ++out.exhausted;
        continue;
      }
      value[i] = (prefix[i] + total) / (appended[i] + (total != 0 ? 1 : 0));
      out.decisive += !(value[i] <= 0.5 && value[i] > 0);
    }
    return out;
  }
  /// The same with vectors, in the steps of a Select. `decisive`: their number.
  Counts steps() {
    Counts out;
    for (std::size_t i = 0; i < prefix.size(); i += rank::kWindowMost) {
      const rank::WindowScores step =
          rank::score_window(columns(), i, std::min(prefix.size(), i + rank::kWindowMost), 0.5, value.data());
      for (const std::uint64_t word : step.exhausted) out.exhausted += static_cast<std::size_t>(std::popcount(word));
      for (const std::uint64_t word : step.decisive) out.decisive += static_cast<std::size_t>(std::popcount(word));
    }
    return out;
  }
};

void BM_WindowVector(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  Window window(n), other(n);
  const Window::Counts scores = window.steps(), expected = other.loop();
  if (scores.decisive != expected.decisive || scores.exhausted != expected.exhausted)
    return wrong_answer(state, "differs from the loop");
  for (std::size_t i = 0; i < n; ++i)
    if (window.appended[i] != 0 &&
        (window.spread_total[i] != other.spread_total[i] || window.value[i] != other.value[i]))
      return wrong_answer(state, "another spread total or score than the loop's");
  for (auto _ : state) benchmark::DoNotOptimize(window.steps());
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 36);
}
BENCHMARK(BM_WindowVector)->ArgName("nodes")->ArgsProduct({sizes()});

void BM_WindowLoop(benchmark::State& state) {
  Window window(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(window.loop());
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 36);
}
BENCHMARK(BM_WindowLoop)->ArgName("nodes")->ArgsProduct({sizes()});

// ---------------------------------------------------------------- verdicts by class

constexpr std::uint32_t kClasses = 64;

struct ClassesByNumber {
  feasible::ClassCache cache;
  explicit ClassesByNumber(const std::vector<std::string>&) { cache.begin_attempt(kClasses, 1); }
  bool known(std::uint32_t number, const std::string&) {
    return cache.group_status(0, number) != feasible::ClassStatus::unknown;
  }
  bool passes(std::uint32_t number, const std::string&) {
    return cache.group_status(0, number) == feasible::ClassStatus::eligible;
  }
  void store(std::uint32_t number, const std::string&, bool eligible) { cache.set_group(0, number, eligible); }
};
struct ClassesByText {
  std::unordered_map<std::string, bool> verdicts;
  explicit ClassesByText(const std::vector<std::string>&) {}
  bool known(std::uint32_t, const std::string& text) { return verdicts.contains(text); }
  bool passes(std::uint32_t, const std::string& text) { return verdicts.find(text)->second; }
  void store(std::uint32_t, const std::string& text, bool eligible) { verdicts[text] = eligible; }
};

/// An attempt: each class is decided at the visit of its first node.
template <class Cache>
void BM_ClassVerdicts(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<std::string> texts;
  for (std::uint32_t c = 0; c < kClasses; ++c) texts.push_back(numbered("v1:", 1'000'000'007ULL * (c + 1)));
  std::vector<std::uint32_t> classes(n);
  std::mt19937 random(14);
  std::size_t expected = 0;
  for (std::uint32_t& c : classes) expected += (c = random() % kClasses) % 3 != 0;
  time_passing(state, expected, [&] {
    Cache cache(texts);
    std::size_t eligible = 0;
    for (const std::uint32_t c : classes) {
      if (!cache.known(c, texts[c])) cache.store(c, texts[c], c % 3 != 0);
      eligible += cache.passes(c, texts[c]);
    }
    return eligible;
  });
}
BENCHMARK_TEMPLATE(BM_ClassVerdicts, ClassesByNumber)->ArgName("nodes")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_ClassVerdicts, ClassesByText)->ArgName("nodes")->ArgsProduct({sizes()});

// ---------------------------------------------------------------- distinct_property

constexpr std::uint32_t kRacks = 500;

struct RacksByNumber {
  feasible::PropertySet set;
  RacksByNumber() : set(constraint(), feasible::PropertySet::kWholeJob) {
    for (std::uint32_t rack = 0; rack < kRacks; rack += 2) set.add_existing(rack), set.add_existing(rack);
    set.begin_plan();
    set.end_plan();
  }
  static model::Constraint constraint() {
    model::Constraint out;
    out.ltarget = "${meta.rack}", out.operand = "distinct_property", out.rtarget.assign(1, '2');
    return out;
  }
  [[nodiscard]] bool passes(std::uint32_t rack, const std::string&) const { return set.passes(rack); }
};
struct RacksByText {
  std::unordered_map<std::string, std::uint64_t> used;
  RacksByText() {
    for (std::uint32_t rack = 0; rack < kRacks; rack += 2) used[numbered("rack-", rack)] = 2;
  }
  [[nodiscard]] bool passes(std::uint32_t, const std::string& rack) const {
    const auto found = used.find(rack);
    return found == used.end() || found->second < 2;
  }
};

template <class Set>
void BM_DistinctProperty(benchmark::State& state) {
  const Set set;
  std::vector<std::string> texts;
  for (std::uint32_t rack = 0; rack < kRacks; ++rack) texts.push_back(numbered("rack-", rack));
  std::vector<std::uint32_t> racks(static_cast<std::size_t>(state.range(0)));
  std::mt19937 random(15);
  std::size_t expected = 0;
  for (std::uint32_t& rack : racks) expected += (rack = random() % kRacks) % 2 != 0;
  time_passing(state, expected, [&] {  // R-FEAS-1410
    std::size_t passing = 0;
    for (const std::uint32_t rack : racks) passing += set.passes(rack, texts[rack]);
    return passing;
  });
}
BENCHMARK_TEMPLATE(BM_DistinctProperty, RacksByNumber)->ArgName("nodes")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_DistinctProperty, RacksByText)->ArgName("nodes")->ArgsProduct({sizes()});

// ---------------------------------------------------------------- operands

struct OperandCase {
  match::Operand operand;
  const char* right;
};
constexpr OperandCase kOperands[] = {{match::Operand::less, "500"},
                                     {match::Operand::version, ">= 1.2, < 1.7"},
                                     {match::Operand::regexp, "^1\\.[0-6]\\."},
                                     {match::Operand::set_contains_any, "1.2.3,1.3.4"}};

std::vector<std::string> values_of_nodes(std::int64_t n) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < n; ++i)
    out.push_back(numbered("1.", static_cast<std::uint64_t>(i * 7919 % n % 10)) +
                  numbered(".", static_cast<std::uint64_t>(i % 7)));
  return out;
}

/// Tests the value of every node against the right side of a case; `form(case, patterns)` makes the test function.
template <class Form>
void time_operand(benchmark::State& state, const Form& form) {
  const OperandCase& c = kOperands[state.range(1)];
  const auto values = values_of_nodes(state.range(0));
  match::Patterns patterns;
  const auto holds = form(c, patterns);
  std::size_t expected = 0;
  for (const std::string& value : values) {
    const bool general = match::evaluate(c.operand, {value, true}, {c.right, true}, patterns);
    if (holds(value) != general) return wrong_answer(state, "differs from the general form");
    expected += general;
  }
  time_passing(state, expected, [&] {
    std::size_t holding = 0;
    for (const std::string& value : values) holding += holds(value);
    return holding;
  });
  state.SetLabel(c.right);
}

/// Compiled once.
void BM_OperandCompiled(benchmark::State& state) {
  time_operand(state, [](const OperandCase& c, match::Patterns& patterns) {
    return [matcher = match::Matcher(c.operand, {c.right, true}, patterns)](const std::string& value) {
      return matcher({value, true});
    };
  });
}
BENCHMARK(BM_OperandCompiled)->ArgNames({"values", "case"})->ArgsProduct({sizes(), {0, 1, 2, 3}});

/// As a text that is looked up for each value.
void BM_OperandGeneral(benchmark::State& state) {
  time_operand(state, [](const OperandCase& c, match::Patterns& patterns) {
    return [&](const std::string& value) {
      return match::evaluate(c.operand, {value, true}, {c.right, true}, patterns);
    };
  });
}
BENCHMARK(BM_OperandGeneral)->ArgNames({"values", "case"})->ArgsProduct({sizes(), {0, 1, 2, 3}});

}  // namespace
}  // namespace berth::micro
