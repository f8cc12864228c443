// A recorded decision, and the result of replaying it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conform/field.h"
#include "sched/source/sources.h"

namespace berth::conform {

/// One line of a vector file.
struct Vector {
  Field whole;                    ///< the line
  Field in;                       ///< component vectors: `in`; else the whole line
  Field out;                      ///< component vectors: `out`; else `expect`
  const std::string& path;        ///< its file
  std::string_view name;          ///< its `name`
  sched::EnabledSources sources;  ///< sources that may serve the Selects of an evaluation
};

struct Difference {
  std::string place;     ///< JSON pointer into the expected value
  std::string expected;  ///< JSON text, shortened
  std::string got;       ///< JSON text, shortened
  std::string rule;      ///< rule numbers if known, else ""
};

struct Outcome {
  enum class Kind : std::uint8_t { equal, differ, unsupported };
  Kind kind = Kind::equal;
  std::string missing;                  ///< unsupported: the name of the missing behaviour
  std::vector<Difference> differences;  ///< differ: at least one

  static Outcome unsupported(std::string what) { return {Kind::unsupported, std::move(what), {}}; }
  static Outcome from(std::vector<Difference> differences) {
    return {differences.empty() ? Kind::equal : Kind::differ, {}, std::move(differences)};
  }
  static Outcome failed(std::string problem) { return {Kind::differ, {}, {{"", "a result", std::move(problem), ""}}}; }
};

using Replay = Outcome (*)(const Vector&);

/// A kind of component vectors: the file name without extensions, and the function that replays one of them.
struct Component {
  std::string_view file;
  Replay replay;
};

}  // namespace berth::conform
