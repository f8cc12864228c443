#include "gate/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/noise.h"
#include "stats/rank_test.h"
#include "stats/summary.h"

namespace berth::gate {
namespace {

bool constant(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

/// True if every run does exactly the same. Racing workers decide and count differently each time.
bool repeats(const CasePair& pair) {
  const auto alone = [](const Fingerprint& print) {
    return print.get("commits") != "free" && print.get("workers") == "1";
  };
  return alone(pair.base.fingerprint) && alone(pair.head.fingerprint);
}

double change_of(const Metric& metric, double base, double got) {
  const double raw = metric.is_share() ? got - base : stats::relative_difference(got, base);
  return is_lower_better(metric) ? raw : -raw;
}

double worst_allowed(const Metric& metric, double base, double limit) {
  const double room = metric.is_share() ? limit : limit * std::abs(base);
  return is_lower_better(metric) ? base + room : base - room;
}

double limit_of(const Metric& metric, const Rules& rules) {
  const auto own = rules.limits.find(metric.name);
  if (own != rules.limits.end()) return own->second.change;
  return metric.kind == Kind::time ? metric.gate.limit * rules.effect : metric.gate.limit;
}

const std::vector<double>* values_of(const Samples& samples, const Metric& metric) {
  const auto found = samples.values.find(metric.name);
  return found == samples.values.end() || found->second.empty() ? nullptr : &found->second;
}

/// Share of a stage in the engine's time on one side; 0: the samples have no stages.
double stage_share(const Samples& samples, const Metric& wanted) {
  double all = 0, own = 0;
  for (const Metric& metric : metrics()) {
    if (!is_stage(metric)) continue;
    const std::vector<double>* const values = values_of(samples, metric);
    if (!values) continue;
    const double ns = stats::median(*values);
    all += ns;
    if (metric.name == wanted.name) own = ns;
  }
  return all > 0 ? own / all : 0;
}

bool is_off(std::string_view name, const Rules& rules) {
  const auto own = rules.limits.find(name);
  return own != rules.limits.end() && own->second.off;
}

bool is_judged(const Metric& metric, const Rules& rules) {
  if (is_off(metric.name, rules)) return false;
  if (metric.name == kInstructions) return rules.instructions;
  if (metric.kind != Kind::time) return true;
  return !rules.counters_only &&
         (rules.only.empty() || std::find(rules.only.begin(), rules.only.end(), metric.name) != rules.only.end());
}

/// True if a stage takes too little time on both sides to be judged.
bool is_small_stage(const CasePair& pair, const Metric& metric) {
  return is_stage(metric) && stage_share(pair.base, metric) < kLeastStageShare &&
         stage_share(pair.head, metric) < kLeastStageShare;
}

bool has(const Samples& samples, const Metric& metric) {
  const std::vector<double>* const values = values_of(samples, metric);
  // Stages without time are not listed, possibly only on one side.
  return values && !(is_stage(metric) && stats::median(*values) == 0);
}

class Judge {
 public:
  explicit Judge(const Rules& rules) : rules_(rules) {}

  void digests(const CasePair& pair) {
    if (is_off(kDigest, rules_)) return;
    const auto& base = pair.base.digests;
    const auto& head = pair.head.digests;
    if (base.empty() || head.empty()) return;
    const auto varies = [](const std::vector<std::string>& all) {
      return std::any_of(all.begin(), all.end(), [&](const std::string& one) { return one != all.front(); });
    };
    // Workers that take turns (commits = "deterministic") decide like a single one.
    for (const Samples* side : {&pair.base, &pair.head})
      if (side->fingerprint.get("commits") == "free")
        return out_.notes.push_back(pair.what.name() +
                                    ": workers race, so decisions and counters vary from run to run and are "
                                    "not gated; quality and times are");
    Finding& finding = add(pair, nullptr, kDigest);
    finding.exact = true;
    finding.n = std::min(base.size(), head.size());
    finding.base_text = base.front();
    if (varies(base)) {
      finding.got_text = head.front();
      finding.result = Judgement::inconclusive;
      finding.note = "decisions of the base vary from run to run";
      return;
    }
    const auto other = std::find_if(head.begin(), head.end(), [&](const auto& one) { return one != base.front(); });
    finding.got_text = other == head.end() ? base.front() : *other;
    if (other == head.end()) return;
    finding.result = Judgement::regression;
    finding.note = varies(head) ? "decisions vary from run to run" : "decisions changed";
  }

  void metric(const CasePair& pair, const Metric& metric) {
    if (!is_judged(metric, rules_) || is_small_stage(pair, metric)) return;
    const bool in_base = has(pair.base, metric), in_head = has(pair.head, metric);
    if (!in_base && !in_head) return;
    if (!in_base || !in_head) {
      Finding& finding = add(pair, &metric, metric.name);
      finding.result = Judgement::inconclusive;
      finding.note = fmt::format("the {} does not report it", in_base ? "head" : "base");
      return;
    }
    const std::vector<double>*const base = values_of(pair.base, metric), *const head = values_of(pair.head, metric);
    const std::vector<double>&a = *base, &b = *head;
    const std::size_t n = std::min(a.size(), b.size());
    if (metric.kind == Kind::time) {
      if (stats::median(a) > 0 || stats::median(b) > 0) statistical(pair, metric, a, b, limit_of(metric, rules_));
      return;
    }
    if (!repeats(pair)) {  // reported by digests()
      if (metric.kind == Kind::quality)
        statistical(pair, metric, a, b, std::max(limit_of(metric, rules_), metric.is_share() ? 0 : rules_.effect));
      return;
    }
    if (!constant(a)) {  // no single base value to compare with
      exact(pair, metric, stats::median(a), stats::median(b), n);
      out_.findings.back().result = Judgement::inconclusive;
      out_.findings.back().note = "varies from run to run in the base";
      return;
    }
    if (constant(b)) return exact(pair, metric, a.front(), b.front(), n);
    // The base repeats exactly, but the head does not.
    const auto worst = std::max_element(b.begin(), b.end(), [&](double x, double y) {
      return change_of(metric, a.front(), x) < change_of(metric, a.front(), y);
    });
    exact(pair, metric, a.front(), *worst, n);
    Finding& finding = out_.findings.back();
    finding.note = "varies from run to run, the base does not";
    if (metric.gate.limit == 0) finding.result = Judgement::regression;
  }

  Verdict finish() {
    std::vector<double> p;
    for (const std::size_t i : tests_) p.push_back(out_.findings[i].p);
    const std::vector<double> adjusted = stats::holm(p);
    // Improvements are tested in the other direction, with a separate correction.
    const std::vector<double> better = stats::holm(p_better_);
    for (std::size_t t = 0; t < tests_.size(); ++t) conclude(out_.findings[tests_[t]], adjusted[t], better[t], t);
    for (const Finding& finding : out_.findings)
      if (out_.result < finding.result) out_.result = finding.result;
    return std::move(out_);
  }

  void stages(const CasePair& pair) {
    std::vector<StageShare> coarse, fine;
    for (const Metric& metric : metrics()) {
      if (stage_of(metric).empty()) continue;
      const std::vector<double>*const base = values_of(pair.base, metric), *const head = values_of(pair.head, metric);
      if (!base || !head) continue;
      (is_stage(metric) ? fine : coarse)
          .push_back({pair.what.name(), std::string(stage_of(metric)), stats::median(*base), stats::median(*head)});
    }
    const std::vector<StageShare>& known = fine.empty() ? coarse : fine;
    out_.stages.insert(out_.stages.end(), known.begin(), known.end());
  }

 private:
  Finding& add(const CasePair& pair, const Metric* about, std::string_view name) {
    Finding& finding = out_.findings.emplace_back();
    finding.case_name = pair.what.name();
    finding.metric = name;
    finding.about = about;
    return finding;
  }

  void exact(const CasePair& pair, const Metric& metric, double base, double got, std::size_t n) {
    const double limit = limit_of(metric, rules_);
    Finding& finding = add(pair, &metric, metric.name);
    finding.exact = true;
    finding.base = base, finding.got = got, finding.n = n;
    finding.want = worst_allowed(metric, base, limit);
    finding.change = change_of(metric, base, got);
    constexpr double kRounding = 1e-12;  // tolerance for a limit that is met exactly
    if (finding.change > limit + kRounding) finding.result = Judgement::regression;
    if (finding.change < -limit - kRounding) finding.result = Judgement::improved;
  }

  void statistical(const CasePair& pair, const Metric& metric, const std::vector<double>& a,
                   const std::vector<double>& b, double limit) {
    Finding& finding = add(pair, &metric, metric.name);
    finding.n = std::min(a.size(), b.size());
    finding.base = stats::median(a), finding.got = stats::median(b);
    finding.want = worst_allowed(metric, finding.base, limit);
    finding.change = change_of(metric, finding.base, finding.got);
    const double noise =
        std::max(stats::aa_noise(a, finding.n, rules_.seed), stats::aa_noise(b, finding.n, rules_.seed));
    finding.noise = metric.is_share() && std::isfinite(noise) ? noise * std::abs(finding.base) : noise;
    const stats::RankTest test = stats::rank_test(a, b);
    const bool lower = is_lower_better(metric);
    finding.p = lower ? test.p_greater : test.p_less;
    p_better_.push_back(lower ? test.p_less : test.p_greater);
    limits_.push_back(limit);
    // The best of each side, which a busy machine disturbs least.
    const auto best = [&](const std::vector<double>& values) {
      return lower ? *std::min_element(values.begin(), values.end()) : *std::max_element(values.begin(), values.end());
    };
    best_change_.push_back(change_of(metric, best(a), best(b)));
    tests_.push_back(out_.findings.size() - 1);
  }

  void conclude(Finding& finding, double p, double p_better, std::size_t test) const {
    const double limit = limits_[test], half = limit / 2;
    finding.p = p;
    const bool beyond_noise = std::abs(finding.change) > finding.noise;
    if (finding.change > limit && p <= rules_.alpha && beyond_noise && best_change_[test] > half) {
      finding.result = Judgement::regression;
    } else if (finding.change < -limit && p_better <= rules_.alpha && beyond_noise && best_change_[test] < -half) {
      finding.result = Judgement::improved;
    } else if (finding.change > limit) {
      finding.result = Judgement::inconclusive;
      finding.note = "worse, but not beyond doubt";
    } else if (finding.noise > limit) {
      finding.result = Judgement::inconclusive;
      finding.note = "the noise exceeds the effect to find";
    }
  }

  const Rules& rules_;
  Verdict out_;
  std::vector<std::size_t> tests_;                       // findings decided by statistics
  std::vector<double> p_better_, limits_, best_change_;  // parallel to tests_
};

}  // namespace

std::size_t Verdict::count(Judgement wanted) const {
  return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(),
                                                [&](const Finding& finding) { return finding.result == wanted; }));
}

int Verdict::exit_code() const {
  if (result == Judgement::regression) return kRegression;
  return result == Judgement::inconclusive ? kInconclusive : kPass;
}

Outcome<void> check_sides(const std::vector<CasePair>& cases, const Rules& rules, const std::string& base_name,
                          const std::string& head_name) {
  for (const CasePair& pair : cases)
    for (const Metric& metric : metrics()) {
      if (!is_judged(metric, rules) || is_small_stage(pair, metric)) continue;
      const bool in_base = has(pair.base, metric), in_head = has(pair.head, metric);
      const bool wanted = metric.name == kInstructions;  // requested, so that neither side may lack them
      if (in_base == in_head && (in_base || !wanted)) continue;
      return fail(
          kUsage, in_base ? head_name : base_name,
          fmt::format("does not report {}{}", metric.name, in_base || in_head ? ", and the other side does" : ""),
          fmt::format("measure both sides alike, or do not gate it: {}--limit {}=any",
                      metric.kind == Kind::time ? "--counters-only or " : "", metric.name),
          pair.what.name());
    }
  if (rules.counters_only) return {};
  for (const std::string& name : rules.only) {
    const Metric* const metric = find_metric(name);
    if (metric &&
        std::none_of(cases.begin(), cases.end(), [&](const CasePair& pair) { return has(pair.base, *metric); }))
      return fail(kUsage, "berth gate", fmt::format("no case reports {}", name),
                  is_stage(*metric) ? "add --stages" : "`berth gate show FILE` lists what a baseline has", "--metrics");
  }
  return {};
}

Verdict judge(const std::vector<CasePair>& cases, const Rules& rules) {
  Judge judge(rules);
  for (const Kind kind : {Kind::counter, Kind::quality, Kind::time})
    for (const CasePair& pair : cases) {
      if (kind == Kind::counter) judge.digests(pair);
      for (const Metric& metric : metrics())
        if (metric.kind == kind) judge.metric(pair, metric);
    }
  for (const CasePair& pair : cases) judge.stages(pair);
  return judge.finish();
}

Verdict confirmed(Verdict verdict, const Verdict& fresh) {
  verdict.result = Judgement::pass;
  for (Finding& finding : verdict.findings) {
    if (finding.result == Judgement::regression && !finding.exact) {
      const auto again = std::find_if(fresh.findings.begin(), fresh.findings.end(), [&](const Finding& other) {
        return other.case_name == finding.case_name && other.metric == finding.metric;
      });
      if (again != fresh.findings.end() && again->result != Judgement::regression) {
        finding.result = Judgement::inconclusive;
        finding.note = "not seen again in a second batch";
      }
    }
    if (verdict.result < finding.result) verdict.result = finding.result;
  }
  return verdict;
}

bool got_slower(const Verdict& verdict, const std::string& case_name) {
  return std::any_of(verdict.findings.begin(), verdict.findings.end(), [&](const Finding& finding) {
    return finding.result == Judgement::regression && finding.about && finding.about->kind == Kind::time &&
           finding.case_name == case_name;
  });
}

std::string slower_stage(const Verdict& verdict, const std::string& case_name) {
  if (!got_slower(verdict, case_name)) return "";
  const auto regressed = [&](const StageShare& share) {
    return std::any_of(verdict.findings.begin(), verdict.findings.end(), [&](const Finding& finding) {
      return finding.case_name == case_name && finding.result == Judgement::regression && finding.about &&
             is_stage(*finding.about) && stage_of(*finding.about) == share.stage;
    });
  };
  const StageShare* most = nullptr;
  for (const StageShare& share : verdict.stages) {
    if (share.case_name != case_name || share.head_ns <= share.base_ns) continue;
    const auto rank = [&](const StageShare& one) { return std::pair(regressed(one), one.head_ns - one.base_ns); };
    if (!most || rank(share) > rank(*most)) most = &share;
  }
  if (!most) return "";
  return fmt::format("{} ({:+.1f} %)", most->stage, 100 * stats::relative_difference(most->head_ns, most->base_ns));
}

std::size_t repetitions_needed(std::size_t cases, const Rules& rules) {
  if (rules.counters_only) return 2;
  std::size_t times = 0;
  for (const Metric& metric : metrics())
    times += metric.kind == Kind::time && (rules.stages || !is_stage(metric)) && !is_off(metric.name, rules) &&
             (rules.only.empty() || std::find(rules.only.begin(), rules.only.end(), metric.name) != rules.only.end());
  const double needed = rules.alpha / static_cast<double>(std::max<std::size_t>(1, times * cases));
  std::size_t n = 3;  // the noise estimate needs three
  while (stats::smallest_p(n) > needed) ++n;
  return n;
}

}  // namespace berth::gate
