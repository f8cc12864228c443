// Files of rows as tables of SQLite, read as a stream: plain or gzip, several files in turn, one line in memory.
//
//   an empty field, NaN, nan      NULL
//   a number                      an integer or a real number
//   anything else                 text
//
// Fields are separated by commas, without quoting, as all public traces have them. A line with another number of fields
// ends the query with an error that names file and line.
#pragma once

#include <sqlite3.h>

#include <string>
#include <vector>

namespace berth::trace {

/// An input of a format: what its files look like, and which files were given.
struct Input {
  enum class Shape {
    positions,  ///< no header: `columns` are all columns, in order
    header,     ///< the first line has the names; `columns` are those that the format needs
    lines,      ///< one column, `line`: for JSON
    database,   ///< an SQLite file, attached under the name of the input
  };
  std::string name;
  Shape shape = Shape::positions;
  bool optional = false;
  std::vector<std::string> columns, files;
};

/// Creates a virtual table for the input, which must outlive `db`. An SQLite error code.
[[nodiscard]] int create_rows_table(sqlite3* db, const Input& input);

}  // namespace berth::trace
