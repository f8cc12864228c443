// `berth trace convert`: public traces as own traces (sim/trace_file.h, sim/node_list.h).
//
// A format is data: a file of SQL in datasets/formats. Comment lines at its head name its inputs, and its views give
// the rows of the result.
//
//   -- input NAME: a, b, c             files without a header, these columns in order
//   -- input NAME: header a, b         files with a header that has at least these columns
//   -- input NAME: lines               files of lines; one column, `line`
//   -- input NAME: sqlite              an SQLite file, whose tables are NAME.table
//   -- input NAME?: ...                may be left out, and is then empty
//   view jobs                          columns of a trace
//   view nodes                         columns of a list of nodes; may be absent
//   view skipped                       reason, rows: what is left out of `jobs`; may be absent
//   param(NAME, DEFAULT)               a number or text that --set NAME=VALUE sets
//   up(X)                              the least whole number that is at least X, less a rounding error of 1e-6
//
// Memory: SQLite's page cache and one line; sorting and temporary tables are on disk.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/result.h"

namespace berth::trace {

struct Settings {
  std::string format;               ///< name of a shipped format, or a file
  std::vector<std::string> inputs;  ///< NAME=FILE, or FILE with the name of an input in its path
  std::string jobs, nodes;          ///< files to write; nodes "": none
  std::map<std::string, std::string> parameters;
};

struct Converted {
  std::uint64_t jobs = 0, allocs = 0, nodes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> skipped;  ///< rows, by reason
  std::map<std::string, std::string> parameters;               ///< used ones, with their values
};

/// Error: no such format, input or parameter, a file that is not of the format, or an output that cannot be written.
[[nodiscard]] Result<Converted> convert(const Settings& settings);

/// The shipped formats: name and first comment line.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> formats();

}  // namespace berth::trace
