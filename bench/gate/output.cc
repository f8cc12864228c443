#include "gate/output.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "run/junit.h"
#include "stats/summary.h"

namespace berth::gate {
namespace {

const char* word(Judgement result) {
  static constexpr const char* kWords[] = {"pass", "improved", "inconclusive", "regression"};
  return kWords[static_cast<std::size_t>(result)];
}

std::string text_of(const Finding& finding, double value) { return run::with_unit(value, finding.about->unit); }

/// Change relative to the base: "+10.3 %", for differences of shares "+0.4 points", from 0 "new".
std::string change_text(const Finding& finding) {
  const double raw = is_lower_better(*finding.about) ? finding.change : -finding.change;
  if (finding.about->is_share()) return fmt::format("{:+.2f} points", 100 * raw);
  if (std::isinf(raw)) return "new";
  return fmt::format("{:+.1f} %", 100 * raw);
}

std::string noise_text(const Finding& finding) {
  if (finding.exact) return "noise 0";
  if (std::isinf(finding.noise)) return "noise unknown";
  return finding.about->is_share() ? fmt::format("noise {:.2f} points", 100 * finding.noise)
                                   : fmt::format("noise {:.1f} %", 100 * finding.noise);
}

std::string sides(const Described& what, const char* code) {
  std::string out;
  if (what.session->cases.empty()) return out;
  const CasePair& first = what.session->cases.front();
  const auto side = [&](const char* name, const std::string& command, const Fingerprint& print) {
    const std::string built = print.get("isa_path").empty()
                                  ? ""
                                  : fmt::format(", {}, ISA path {}", print.get("compiler"), print.get("isa_path"));
    return fmt::format("{} {}{}{}, commit {}{}{}", name, code, command, code, print.get("commit").substr(0, 12),
                       print.get("dirty") == "yes" ? "-dirty" : "", built);
  };
  return side("base", what.base, first.base.fingerprint) + "\n" + side("head", what.head, first.head.fingerprint) +
         "\n" +
         fmt::format("machine {}, {} cores; seed {}, effect {:g} %, alpha {:g}\n", first.head.fingerprint.get("cpu"),
                     first.head.fingerprint.get("cores"), what.seed, 100 * what.rules.effect, what.rules.alpha);
}

std::string summary(const Described& what) {
  const Verdict& verdict = what.session->verdict;
  return fmt::format("{}: {} regression{}, {} inconclusive, {} improved, {} passed{}{}", word(verdict.result),
                     verdict.count(Judgement::regression), verdict.count(Judgement::regression) == 1 ? "" : "s",
                     verdict.count(Judgement::inconclusive), verdict.count(Judgement::improved),
                     verdict.count(Judgement::pass),
                     what.session->seconds > 0 ? fmt::format("; {:.0f} s", what.session->seconds) : "",
                     what.session->out_of_time ? ", the time was spent" : "");
}

}  // namespace

std::string finding_line(const Finding& finding) {
  const std::string name = finding.case_name + " " + finding.metric;
  const std::string note = finding.note.empty() ? "" : ": " + finding.note;
  if (!finding.about)
    return fmt::format("{}: got {}, want {} (n = {}){}", name, finding.got_text, finding.base_text, finding.n, note);
  return fmt::format("{}: got {}, want {} {} (base {}, {}, {}, n = {}){}", name, text_of(finding, finding.got),
                     is_lower_better(*finding.about) ? "≤" : "≥", text_of(finding, finding.want),
                     text_of(finding, finding.base), change_text(finding), noise_text(finding), finding.n, note);
}

std::string to_terminal(const Described& what) {
  const Verdict& verdict = what.session->verdict;
  std::string out = sides(what, "");
  for (const Judgement result : {Judgement::regression, Judgement::inconclusive, Judgement::improved}) {
    if (verdict.count(result) == 0) continue;
    out += fmt::format("\n{}\n", word(result));
    for (const Finding& finding : verdict.findings)
      if (finding.result == result) out += "  " + finding_line(finding) + "\n";
  }
  std::string extra;
  for (const CasePair& pair : what.session->cases)
    if (const std::string stage = slower_stage(verdict, pair.what.name()); !stage.empty())
      extra += fmt::format("{}: the slower stage is {}\n", pair.what.name(), stage);
  for (const Profile& profile : what.profiles)
    extra += profile.file.empty()
                 ? fmt::format("{}: {}\n", profile.case_name, profile.text)
                 : fmt::format("{}: profile of the head in {}\n{}", profile.case_name, profile.file, profile.text);
  for (const std::string& note : verdict.notes) extra += "note: " + note + "\n";
  if (!extra.empty()) out += "\n" + extra;
  return out + "\n" + summary(what) + "\n";
}

std::string to_markdown(const Described& what) {
  const Verdict& verdict = what.session->verdict;
  std::string out = fmt::format("### berth gate: {}\n\n{}\n\n", word(verdict.result), summary(what));
  const auto table = [&](Judgement result, const char* title) {
    if (verdict.count(result) == 0) return;
    out += fmt::format(
        "#### {}\n\n| case | metric | base | head | change | limit | noise | n | "
        "|\n|---|---|--:|--:|--:|--:|--:|--:|---|\n",
        title);
    for (const Finding& f : verdict.findings) {
      if (f.result != result) continue;
      if (!f.about) {
        out += fmt::format("| {} | {} | `{}` | `{}` | | equal | | {} | {} |\n", f.case_name, f.metric, f.base_text,
                           f.got_text, f.n, f.note);
        continue;
      }
      out += fmt::format("| {} | {} | {} | {} | {} | {} {} | {} | {} | {} |\n", f.case_name, f.metric,
                         text_of(f, f.base), text_of(f, f.got), change_text(f), is_lower_better(*f.about) ? "≤" : "≥",
                         text_of(f, f.want), noise_text(f).substr(6), f.n, f.note);
    }
    out += "\n";
  };
  table(Judgement::regression, "Regressions");
  table(Judgement::inconclusive, "Inconclusive");
  table(Judgement::improved, "Improvements");
  if (!verdict.stages.empty()) {
    out += "#### Time by stage\n\n| case | stage | base | head | change |\n|---|---|--:|--:|--:|\n";
    for (const StageShare& s : verdict.stages)
      out += fmt::format("| {} | {} | {} | {} | {:+.1f} % |\n", s.case_name, s.stage, run::with_unit(s.base_ns, "ns"),
                         run::with_unit(s.head_ns, "ns"), 100 * stats::relative_difference(s.head_ns, s.base_ns));
    out += "\n";
  }
  for (const Profile& profile : what.profiles)
    out += fmt::format("<details><summary>{}: profile of the head</summary>\n\n```\n{}\n```\n\n</details>\n\n",
                       profile.case_name, profile.text);
  for (const std::string& note : verdict.notes) out += "- " + note + "\n";
  if (!verdict.notes.empty()) out += "\n";
  out += "<details><summary>What passed</summary>\n\n";
  for (const Finding& f : verdict.findings)
    if (f.result == Judgement::pass) out += "- " + finding_line(f) + "\n";
  out += "\n</details>\n\n" + sides(what, "`");
  return out;
}

std::string to_junit(const Described& what) {
  const Verdict& verdict = what.session->verdict;
  std::vector<run::JunitSuite> suites;
  for (const CasePair& pair : what.session->cases) {
    const std::string name = pair.what.name(), stage = slower_stage(verdict, name);
    run::JunitSuite suite{"berth gate " + name, {}};
    for (const Finding& finding : verdict.findings) {
      if (finding.case_name != name) continue;
      run::JunitCase one{
          name, finding.metric, "", run::JunitCase::Outcome::passed, word(finding.result), finding_line(finding), ""};
      if (finding.result == Judgement::inconclusive) one.outcome = run::JunitCase::Outcome::skipped;
      if (finding.result == Judgement::regression) {
        one.outcome = run::JunitCase::Outcome::failed;
        if (!stage.empty()) one.detail = fmt::format("the slower stage is {}\n", stage);
        one.detail += sides(what, "");
      }
      suite.cases.push_back(std::move(one));
    }
    suites.push_back(std::move(suite));
  }
  return run::to_junit("berth gate", suites);
}

json::Value to_json(const Described& what) {
  const Verdict& verdict = what.session->verdict;
  json::Value out = json::Object{{"format", "berth-gate"},
                                 {"version", kGateVersion},
                                 {"result", word(verdict.result)},
                                 {"exit_code", verdict.exit_code()},
                                 {"base", what.base},
                                 {"head", what.head},
                                 {"seed", what.seed},
                                 {"effect", what.rules.effect},
                                 {"alpha", what.rules.alpha},
                                 {"seconds", what.session->seconds},
                                 {"out_of_time", what.session->out_of_time}};
  json::Value cases = json::Value::array();
  for (const CasePair& pair : what.session->cases) {
    json::Value one = json::Value::object();
    one.set("case", pair.what.name());
    const auto print = [&](const Samples& samples) {
      json::Value fields = json::Value::object();
      for (const auto& [field, value] : samples.fingerprint.fields) fields.set(field, value);
      return fields;
    };
    one.set("repetitions", static_cast<std::uint64_t>(std::min(pair.base.repetitions(), pair.head.repetitions())));
    one.set("base_fingerprint", print(pair.base));
    one.set("head_fingerprint", print(pair.head));
    const std::string stage = slower_stage(verdict, pair.what.name());
    one.set("slower_stage", stage.empty() ? json::Value() : json::Value(stage));
    json::Value stages = json::Value::array();
    for (const StageShare& s : verdict.stages) {
      if (s.case_name != pair.what.name()) continue;
      stages.push(json::Object{{"stage", s.stage}, {"base_ns", s.base_ns}, {"head_ns", s.head_ns}});
    }
    one.set("stages", std::move(stages));
    cases.push(std::move(one));
  }
  out.set("cases", std::move(cases));
  json::Value findings = json::Value::array();
  for (const Finding& f : verdict.findings) {
    json::Value one = json::Object{{"case", f.case_name},
                                   {"metric", f.metric},
                                   {"result", word(f.result)},
                                   {"exact", f.exact},
                                   {"n", static_cast<std::uint64_t>(f.n)}};
    if (f.about) {
      one.set("base", f.base);
      one.set("got", f.got);
      one.set("want", f.want);
      one.set("better", is_lower_better(*f.about) ? "lower" : "higher");
      one.set("worse_by", f.change);  // null if the base is 0
      one.set("noise", f.noise);
      one.set("p", f.exact ? json::Value() : json::Value(f.p));
    } else {
      one.set("base", f.base_text);
      one.set("got", f.got_text);
      one.set("want", f.base_text);
    }
    one.set("note", f.note.empty() ? json::Value() : json::Value(f.note));
    findings.push(std::move(one));
  }
  out.set("findings", std::move(findings));
  json::Value profiles = json::Value::array();
  for (const Profile& profile : what.profiles) {
    profiles.push(json::Object{{"case", profile.case_name},
                               {"file", profile.file.empty() ? json::Value() : json::Value(profile.file)},
                               {"text", profile.text}});
  }
  out.set("profiles", std::move(profiles));
  json::Value notes = json::Value::array();
  for (const std::string& note : verdict.notes) notes.push(note);
  out.set("notes", std::move(notes));
  return out;
}

}  // namespace berth::gate
