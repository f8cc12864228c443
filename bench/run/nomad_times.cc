#include "run/nomad_times.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "io/files.h"

namespace berth::run {
namespace {

constexpr std::string_view kHeader =
    "evaluation,job,spread,placed,nodes_evaluated,schedule_ns_1,schedule_ns_2,check_ns_1,check_ns_2,apply_ns_1,"
    "apply_ns_2";
constexpr std::size_t kColumns = 11;

/// The number in a column; -1 if there is none.
std::int64_t number_in(std::string_view text) {
  std::int64_t out = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out >= 0 ? out : -1;
}

/// Reads a line. Returns the problem, or nullptr.
const char* read_evaluation(std::string_view line, NomadTimes& out) {
  const std::vector<std::string_view> columns = base::split(line, ',');
  if (columns.size() != kColumns) return "has not eleven columns";
  std::int64_t numbers[kColumns];
  for (std::size_t i = 0; i < kColumns; ++i)
    if (numbers[i] = i == 1 ? 0 : number_in(columns[i]); numbers[i] < 0) return "holds something that is no number";
  if (static_cast<std::size_t>(numbers[0]) != out.evaluations.size() + 1) return "is out of turn";
  std::string name(columns[1].substr(0, columns[1].find('-')));
  if (numbers[2] != 0) name += " with spread";
  auto kind = std::find_if(out.kinds.begin(), out.kinds.end(), [&](const auto& k) { return k.name == name; });
  if (kind == out.kinds.end()) kind = out.kinds.insert(kind, {name, {}, {}});
  NomadTimes::Evaluation& e = out.evaluations.emplace_back();
  e.kind = static_cast<std::uint32_t>(kind - out.kinds.begin());
  e.placed = static_cast<std::uint32_t>(numbers[3]);
  e.schedule_ns = std::min(numbers[5], numbers[6]);
  e.apply_ns = std::min(numbers[7] + numbers[9], numbers[8] + numbers[10]);
  kind->nomad.add(e.placed, e.schedule_ns, e.apply_ns);
  return nullptr;
}

}  // namespace

NomadTimes::Kind NomadTimes::all() const {
  Kind out{"all", {}, {}};
  for (const Kind& kind : kinds)
    for (const auto& [from, to] : {std::pair(&kind.nomad, &out.nomad), std::pair(&kind.berth, &out.berth)}) {
      to->evaluations += from->evaluations, to->placed += from->placed;
      to->schedule_ns += from->schedule_ns, to->apply_ns += from->apply_ns;
    }
  return out;
}

Result<NomadTimes> read_nomad_times(const std::string& path) {
  NomadTimes out;
  out.path = path;
  const char* problem = nullptr;
  std::size_t at = 0;
  auto read = io::read_lines(path, [&](std::string_view line, std::size_t number) {
    at = number;
    if (number == 1) {
      constexpr std::string_view kDecisions = "decisions,";
      if (!line.starts_with(kDecisions)) return problem = "does not name the digest of the decisions", false;
      out.digest = line.substr(kDecisions.size());
    } else if (number == 2) {
      if (line != kHeader) problem = "is not the header of such a file";
    } else {
      problem = read_evaluation(line, out);
    }
    return problem == nullptr;
  });
  if (!read) return tl::unexpected(read.error());
  if (!problem && out.evaluations.empty()) problem = "is the last: there are no evaluations";
  if (problem)
    return tl::unexpected(InputError{path, std::to_string(at), problem, "take the file from the repository again"});
  return out;
}

}  // namespace berth::run
