// Results as JUnit's XML, which CI systems show as tests: for `berth plan`, `gate` and `conform`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::run {

struct JunitCase {
  enum class Outcome : std::uint8_t { passed, skipped, failed };
  std::string class_name, name;
  std::string file;  ///< "": none
  Outcome outcome = Outcome::passed;
  std::string type;    ///< of a failure, one word
  std::string text;    ///< one line
  std::string detail;  ///< more lines; may be empty
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases;
};

/// A document with these suites. Bytes that XML 1.0 does not allow become question marks.
[[nodiscard]] std::string to_junit(const std::string& name, const std::vector<JunitSuite>& suites);

}  // namespace berth::run
