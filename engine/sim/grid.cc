#include "sim/grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/uuid.h"
#include "io/files.h"
#include "io/json_parse.h"

namespace berth::sim {
namespace {

constexpr const char* kRemedy = "take the file from the repository again";

/// Reads one line of the file; the error names the place and problem of its first defect.
Result<GridCell> read_cell(const json::Value& from, const std::string& path, const std::string& line) {
  std::optional<InputError> error;
  const auto fail = [&](const std::string& key, std::string problem) {
    if (!error) error = InputError{path, line + ":" + key, std::move(problem), kRemedy};
  };
  const auto integer = [&](const char* key, std::int64_t min, std::int64_t max) {
    const json::Value& value = from[key];
    if (!value.is_int64() || value.as_int() < min || value.as_int() > max) {
      fail(key, fmt::format("is not a whole number from {} to {}", min, max));
      return min;
    }
    return value.as_int();
  };
  GridCell out;
  out.cell = static_cast<int>(integer("cell", 1, 1'000'000));
  out.nodes = static_cast<std::uint32_t>(integer("nodes", 1, 10'000'000));
  out.racks = static_cast<std::uint32_t>(integer("racks", 1, 1'000'000));
  out.allocs = integer("allocs", 0, 10'000'000);
  out.state_index = static_cast<std::uint64_t>(integer("state_index", 0, INT64_MAX));
  if (!from["spread"].is_bool()) fail("spread", "is not true or false");
  out.spread = from["spread"].as_bool();
  out.free_runs_equal = from["free_runs_equal"].as_bool();
  out.job = from["job"].as_string();
  out.eval = from["eval"].as_string();
  if (out.job.empty()) fail("job", "is missing");
  if (!base::parse_uuid(out.eval)) fail("eval", "is not a UUID");
  for (const json::Value& ns : from["wall_ns"].items()) {
    if (ns.as_int() <= 0) fail("wall_ns", "holds something that is no time");
    if (out.nomad_ns == 0 || ns.as_int() < out.nomad_ns) out.nomad_ns = ns.as_int();
  }
  if (out.nomad_ns <= 0) fail("wall_ns", "is missing");
  for (const json::Value& node : from["placements"].items()) {
    if (!node.is_int64() || node.as_int() < -1 || node.as_int() >= static_cast<std::int64_t>(out.nodes))
      fail("placements", "names a node that is not there");
    out.placements.push_back(static_cast<std::int32_t>(node.as_int()));
  }
  for (const json::Value& score : from["scores"].items()) {
    if (!score.is_number()) fail("scores", "holds something that is no number");
    out.scores.push_back(score.as_double());
  }
  if (out.placements.size() != static_cast<std::size_t>(out.allocs) || out.scores.size() != out.placements.size())
    fail("placements", "has not one node and one score per allocation");
  if (error) return tl::unexpected(*error);
  return out;
}

}  // namespace

Result<std::vector<GridCell>> read_grid(const std::string& path) {
  std::vector<GridCell> out;
  std::optional<InputError> error;
  auto read = io::read_lines(path, [&](std::string_view text, std::size_t number) {
    auto parsed = io::parse_json(text, path, std::to_string(number));
    if (!parsed) return error = parsed.error(), false;
    auto cell = read_cell(*parsed, path, std::to_string(number));
    if (!cell) return error = cell.error(), false;
    if (std::any_of(out.begin(), out.end(), [&](const GridCell& old) { return old.cell == cell->cell; }))
      return error = InputError{path, std::to_string(number) + ":cell", "occurs twice", kRemedy}, false;
    out.push_back(std::move(*cell));
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  if (error) return tl::unexpected(*error);
  if (out.empty()) return tl::unexpected(InputError{path, "", "holds no cells", kRemedy});
  return out;
}

}  // namespace berth::sim
