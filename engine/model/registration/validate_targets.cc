// Constraints, affinities and spreads (R-MODEL-256, R-FEAS-1802).
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

constexpr std::array kComparisons = {"=", "==", "is", "!=", "not", "<", "<=", ">", ">="};
constexpr std::array kSets = {"set_contains", "set_contains_all", "set_contains_any"};

bool any_of(const auto& list, const std::string& text) {
  return std::any_of(list.begin(), list.end(), [&](const char* entry) { return text == entry; });
}

bool is_digits(const std::string& text) { return text.find_first_not_of("0123456789") == std::string::npos; }

/// Describes what is wrong with a regular expression, or "".
std::string regexp_problem(const std::string& text) {
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 compiled(text, options);
  if (compiled.ok()) return "";
  std::string problem = compiled.error();
  const std::string& part = compiled.error_arg();
  if (!part.empty() && problem.ends_with(": " + part)) problem.resize(problem.size() - part.size() - 2);
  if (problem == "missing ]" || problem == "missing )") problem.insert(problem.size() - 1, "closing ");  // Go's wording
  return "error parsing regexp: " + problem + ": `" + part + "`";
}

/// Error texts of constraints and affinities for a bad right-hand side (R-REG-345, 346).
struct Words {
  const char *sets, *version, *semver;
};
constexpr Words kConstraintWords{"Set contains constraint requires an RTarget",
                                 "Version constraint is invalid: ", "Semver constraint is invalid: "};
constexpr Words kAffinityWords{"Set contains operators require an RTarget",
                               "Version affinity is invalid: ", "Semver affinity is invalid: "};

/// Checks the RTarget of the operands that constraints and affinities share.
void check_rtarget(const Words& words, const std::string& operand, const std::string& rtarget, ErrorList& errors) {
  if (any_of(kSets, operand) && rtarget.empty())
    errors.add(words.sets);
  else if (any_of(kComparisons, operand) && rtarget.empty())
    errors.add("Operator " + base::go_quote(operand) + " requires an RTarget");
  else if (const std::string problem = operand == "regexp" ? regexp_problem(rtarget) : ""; !problem.empty())
    errors.add("Regular expression failed to compile: " + problem);
  else if (operand == "version" && !is_version_constraint(rtarget))
    errors.add(words.version + ("malformed constraint: " + rtarget));
  else if (operand == "semver" && !is_semver_constraint(rtarget))
    errors.add(words.semver + ("Malformed constraint: " + rtarget));
}

/// Describes what is wrong with the form of a target, or "".
std::string target_problem(const std::string& target) {
  if (target.empty() || target[0] != '$') return "";
  const std::string quoted = base::go_quote(target);
  if (!target.starts_with("${")) return "attribute " + quoted + " is missing an opening brace";
  if (!target.ends_with('}')) return "attribute " + quoted + " is missing a closing brace";
  for (const char* exact :
       {"${node.unique.id}", "${node.datacenter}", "${node.unique.name}", "${node.class}", "${node.pool}"})
    if (target == exact) return "";
  for (const char* prefix : {"${attr.", "${device.", "${meta."})
    if (target.starts_with(prefix)) return "";
  return "unsupported attribute " + quoted;
}

template <class T, class Check>
void each(const std::vector<T>& list, const char* kind, Check check, ErrorList& errors) {
  for (std::size_t i = 0; i < list.size(); ++i)
    errors.add_nested(std::string(kind) + " " + std::to_string(i + 1) + " validation failed: ", check(list[i]));
}

}  // namespace

bool is_version_constraint(std::string_view text) {
  static const RE2 piece(
      R"([\t\n\f\r ]*(?:=|!=|>|<|>=|<=|~>)?[\t\n\f\r ]*v?[0-9]+(?:\.[0-9]+)*)"
      R"((?:-[0-9][0-9A-Za-z~-]*(?:\.[0-9A-Za-z~-]+)*|-?[A-Za-z~-][0-9A-Za-z~-]*(?:\.[0-9A-Za-z~-]+)*)?)"
      R"((?:\+[0-9A-Za-z~-]+(?:\.[0-9A-Za-z~-]+)*)?[\t\n\f\r ]*)");
  const auto pieces = base::split(text, ',');
  return std::all_of(pieces.begin(), pieces.end(), [](std::string_view p) { return RE2::FullMatch(p, piece); });
}

bool is_semver_constraint(std::string_view text) {
  static const RE2 piece(R"([\t\n\f\r ]*(?:=|!=|>|<|>=|<=)?[\t\n\f\r ]*v?[0-9]+(?:\.[0-9]+)*)"
                         R"((?:-[0-9A-Za-z~-]+(?:\.[0-9A-Za-z~-]+)*)?)"
                         R"((?:\+[0-9A-Za-z~-]+(?:\.[0-9A-Za-z~-]+)*)?[\t\n\f\r ]*)");
  const auto pieces = base::split(text, ',');
  return std::all_of(pieces.begin(), pieces.end(), [](std::string_view p) { return RE2::FullMatch(p, piece); });
}

ErrorList validate_constraint(const Constraint& c) {
  ErrorList errors;
  bool needs_ltarget = true;
  if (c.operand.empty()) errors.add("Missing constraint operand");
  if (c.operand == "distinct_hosts") {
    needs_ltarget = false;
  } else if (c.operand == "distinct_property") {
    if (!c.rtarget.empty()) {
      const auto count = base::parse_uint64(c.rtarget);
      if (!count)
        errors.add("Failed to convert RTarget " + base::go_quote(c.rtarget) +
                   " to uint64: strconv.ParseUint: parsing " + base::go_quote(c.rtarget) + ": " +
                   (is_digits(c.rtarget) ? "value out of range" : "invalid syntax"));
      else if (*count < 1)
        errors.add("Distinct Property must have an allowed count of 1 or greater: " + c.rtarget + " < 1");
    }
  } else if (c.operand == "is_set" || c.operand == "is_not_set") {
    if (!c.rtarget.empty()) errors.add("Operator " + base::go_quote(c.operand) + " does not support an RTarget");
  } else if (any_of(kComparisons, c.operand) || any_of(kSets, c.operand) || c.operand == "regexp" ||
             c.operand == "version" || c.operand == "semver") {
    check_rtarget(kConstraintWords, c.operand, c.rtarget, errors);
  } else {
    errors.add("Unknown constraint type " + base::go_quote(c.operand));
  }
  if (needs_ltarget && c.ltarget.empty())
    errors.add("no attribute provided but is required by operator");
  else if (std::string problem = target_problem(c.ltarget); !problem.empty())
    errors.add(std::move(problem));
  return errors;
}

ErrorList validate_affinity(const Affinity& a) {
  ErrorList errors;
  if (a.operand.empty()) errors.add("Missing affinity operand");
  if (any_of(kComparisons, a.operand) || any_of(kSets, a.operand) || a.operand == "regexp" || a.operand == "version" ||
      a.operand == "semver")
    check_rtarget(kAffinityWords, a.operand, a.rtarget, errors);
  else
    errors.add("Unknown affinity operator " + base::go_quote(a.operand));
  if (a.ltarget.empty()) errors.add("No LTarget provided but is required");
  if (a.weight > 100 || a.weight < -100)
    errors.add("Affinity weight must be within the range [-100,100]");
  else if (a.weight == 0)
    errors.add("Affinity weight cannot be zero");
  return errors;
}

ErrorList validate_spread(const Spread& spread) {
  ErrorList errors;
  if (spread.attribute.empty()) errors.add("Missing spread attribute");
  if (spread.weight <= 0 || spread.weight > 100) errors.add("Spread block must have a positive weight from 0 to 100");
  std::set<std::string> seen;
  int sum = 0;
  for (const SpreadTarget& target : spread.targets) {
    if (!seen.insert(target.value).second)
      errors.add("Spread target value " + base::go_quote(target.value) + " already defined");
    if (target.percent > 100)
      errors.add("Spread target percentage for value " + base::go_quote(target.value) + " must be between 0 and 100");
    sum += target.percent;
  }
  if (sum > 100)
    errors.add("Sum of spread target percentages must not be greater than 100%; got " + std::to_string(sum) + "%");
  return errors;
}

void validate_constraints(const std::vector<Constraint>& constraints, ErrorList& errors) {
  each(constraints, "Constraint", validate_constraint, errors);
}
void validate_affinities(const std::vector<Affinity>& affinities, ErrorList& errors) {
  each(affinities, "Affinity", validate_affinity, errors);
}
void validate_spreads(const std::vector<Spread>& spreads, ErrorList& errors) {
  each(spreads, "Spread", validate_spread, errors);
}

}  // namespace berth::model
