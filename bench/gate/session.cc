#include "gate/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace berth::gate {
namespace {

class Measuring {
 public:
  Measuring(const SessionOptions& options, const World& world) : options_(options), world_(world) {}

  /// Adds one repetition to `samples`.
  Outcome<void> once(const Case& what, Side side, Samples& samples) {
    auto report = world_.measure(what, side);
    if (!report) return tl::unexpected(report.error());
    return add_report(*report, fmt::format("{} of {}", what.name(), side == Side::base ? "base" : "head"), samples);
  }

  void say(const std::string& line) const {
    if (world_.say) world_.say(line);
  }

  [[nodiscard]] bool time_for(double seconds) const {
    return world_.elapsed_seconds() + seconds <= options_.seconds_max;
  }

  /// Adds `repetitions` of each side to the listed cases, in rounds through all of them. Stops between rounds when the
  /// time is used up; a started block is finished, so that both sides have the same number.
  Outcome<bool> batch(std::vector<CasePair>& cases, const std::vector<std::size_t>& listed, std::size_t repetitions) {
    const std::vector<Side> order = interleaved(repetitions, options_.seed + ++batches_);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % 2 == 0 && i > 0 && !time_for(2 * round_seconds_ * share(cases, listed))) return false;
      for (const std::size_t c : listed) {
        CasePair& pair = cases[c];
        auto done = once(pair.what, order[i], order[i] == Side::base ? pair.base : pair.head);
        if (!done) return tl::unexpected(done.error());
      }
    }
    return true;
  }

  /// Runs everything once without measuring, and notes the time of a round.
  Outcome<void> warm_up(const std::vector<CasePair>& cases, const std::vector<Side>& sides) {
    const double start = world_.elapsed_seconds();
    std::vector<CasePair> warm;
    for (const CasePair& pair : cases) {
      CasePair& one = warm.emplace_back(CasePair{pair.what, {}, {}});
      for (const Side side : sides)
        if (auto done = once(pair.what, side, side == Side::base ? one.base : one.head); !done) return done;
      if (sides.size() == 2)
        if (const auto different = differences(one.base.fingerprint, one.head.fingerprint, true); !different.empty())
          return mismatch(pair.what.name(), different);
    }
    if (sides.size() == 2)
      if (auto fine = check_sides(warm, options_.rules, "base", "head"); !fine) return fine;
    round_seconds_ = (world_.elapsed_seconds() - start) / static_cast<double>(sides.size());
    return {};
  }

  [[nodiscard]] double round_seconds() const { return round_seconds_; }

  Outcome<void> check_budget(std::size_t repetitions, std::size_t sides) const {
    const double needed = world_.elapsed_seconds() + round_seconds_ * static_cast<double>(repetitions * sides);
    if (needed <= options_.seconds_max) return {};
    return fail(kUsage, "berth gate",
                fmt::format("{:g} s are too little: {} repetitions take about {:.0f} s", options_.seconds_max,
                            repetitions * sides, std::ceil(needed)),
                fmt::format("give at least {:.0f}, or choose fewer or smaller workloads", std::ceil(1.2 * needed)),
                "--max-time");
  }

 private:
  static double share(const std::vector<CasePair>& cases, const std::vector<std::size_t>& listed) {
    return static_cast<double>(listed.size()) / static_cast<double>(cases.size());
  }

  const SessionOptions& options_;
  const World& world_;
  double round_seconds_ = 0;  // for every case once on one side
  std::uint64_t batches_ = 0;
};

/// Cases with a statistical finding of this result.
std::vector<std::size_t> cases_with(const Verdict& verdict, const std::vector<CasePair>& cases, Judgement result) {
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < cases.size(); ++c)
    if (std::any_of(verdict.findings.begin(), verdict.findings.end(), [&](const Finding& finding) {
          return finding.result == result && !finding.exact && finding.case_name == cases[c].what.name();
        }))
      out.push_back(c);
  return out;
}

}  // namespace

tl::unexpected<Failure> mismatch(const std::string& source, const std::vector<Difference>& differences) {
  std::string fields;
  for (const Difference& one : differences)
    fields += fmt::format("{}{}: '{}' against '{}'", fields.empty() ? "" : ", ", one.field, one.base, one.head);
  return fail(kInconclusive, source, "base and head cannot be compared: " + fields,
              "measure both alike, or name fields that may differ with --allow");
}

std::vector<Side> interleaved(std::size_t repetitions, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Side> out;
  while (out.size() < 2 * repetitions) {
    const Side first = (random() >> 17) % 2 == 0 ? Side::base : Side::head;
    const Side second = first == Side::base ? Side::head : Side::base;
    out.insert(out.end(), {first, second, second, first});
  }
  out.resize(2 * repetitions);  // a half block is A B or B A
  return out;
}

Outcome<Session> run_session(const std::vector<Case>& cases, const SessionOptions& options, const World& world) {
  Session out;
  for (const Case& one : cases) out.cases.push_back({one, {}, {}});
  Measuring measuring(options, world);
  if (auto done = measuring.warm_up(out.cases, {Side::base, Side::head}); !done) return tl::unexpected(done.error());
  const std::size_t first =
      options.repetitions > 0 ? options.repetitions : repetitions_needed(cases.size(), options.rules);
  if (auto fine = measuring.check_budget(first, 2); !fine) return tl::unexpected(fine.error());

  std::vector<std::size_t> unclear(cases.size());
  for (std::size_t c = 0; c < cases.size(); ++c) unclear[c] = c;
  std::size_t more = first;
  while (true) {
    measuring.say(fmt::format("batch {}: {} repetitions of {} case{}", out.batches + 1, more, unclear.size(),
                              unclear.size() == 1 ? "" : "s"));
    auto complete = measuring.batch(out.cases, unclear, more);
    if (!complete) return tl::unexpected(complete.error());
    ++out.batches;
    out.verdict = judge(out.cases, options.rules);

    // Measures suspects again with fresh samples. Both judgements must find the regression.
    if (const auto suspects = cases_with(out.verdict, out.cases, Judgement::regression);
        !suspects.empty() && *complete) {
      std::vector<CasePair> again;
      std::vector<std::size_t> all(suspects.size());
      for (std::size_t i = 0; i < suspects.size(); ++i)
        again.push_back({out.cases[suspects[i]].what, {}, {}}), all[i] = i;
      measuring.say(fmt::format("{} suspect{} again", suspects.size(), suspects.size() == 1 ? "" : "s"));
      // As many repetitions as the first time, so that a real regression is as likely to be found.
      std::size_t fresh_count = first;
      for (const std::size_t c : suspects) fresh_count = std::max(fresh_count, out.cases[c].base.repetitions());
      Rules rules = options.rules;
      rules.only.clear();
      for (const Finding& finding : out.verdict.findings)
        if (finding.result == Judgement::regression && !finding.exact) rules.only.push_back(finding.metric);
      complete = measuring.batch(again, all, std::min(fresh_count, options.repetitions_max));
      if (!complete) return tl::unexpected(complete.error());
      const Verdict fresh = judge(again, rules);
      for (std::size_t i = 0; i < suspects.size(); ++i) {
        append(out.cases[suspects[i]].base, again[i].base);
        append(out.cases[suspects[i]].head, again[i].head);
      }
      out.verdict = confirmed(judge(out.cases, options.rules), fresh);
    }
    if (out.verdict.result == Judgement::regression) break;
    unclear = cases_with(out.verdict, out.cases, Judgement::inconclusive);
    if (unclear.empty()) break;
    std::size_t most = 0;
    for (const std::size_t c : unclear) most = std::max(most, out.cases[c].base.repetitions());
    more = std::max<std::size_t>(2, most / 2);
    more += more % 2;  // whole blocks
    if (most + more > options.repetitions_max) break;
    if (!*complete || !measuring.time_for(2 * measuring.round_seconds())) {
      out.out_of_time = true;
      break;
    }
  }
  out.seconds = world.elapsed_seconds();
  return out;
}

Outcome<std::vector<std::pair<Case, Samples>>> record_side(const std::vector<Case>& cases, Side side,
                                                           std::size_t repetitions, const SessionOptions& options,
                                                           const World& world) {
  std::vector<CasePair> pairs;
  for (const Case& one : cases) pairs.push_back({one, {}, {}});
  Measuring measuring(options, world);
  if (auto done = measuring.warm_up(pairs, {side}); !done) return tl::unexpected(done.error());
  if (auto fine = measuring.check_budget(repetitions, 1); !fine) return tl::unexpected(fine.error());
  std::vector<std::pair<Case, Samples>> out;
  for (const Case& one : cases) out.emplace_back(one, Samples{});
  for (std::size_t i = 0; i < repetitions; ++i)
    for (auto& [what, samples] : out)
      if (auto done = measuring.once(what, side, samples); !done) return tl::unexpected(done.error());
  return out;
}

}  // namespace berth::gate
