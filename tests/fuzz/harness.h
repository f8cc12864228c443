// A fuzz target is a function for one kind of input from outside. It hands any bytes to the entry that the program
// uses, and checks what must hold for every input. `libfuzzer.cc` runs one of them on generated inputs, `replay.cc`
// runs all of them on the recorded ones.
//
// It ends normally whether or not the input is accepted, and throws Finding if a check fails.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace berth::fuzz {

struct Finding : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws Finding unless `holds`. The parts of its text are only joined then.
template <class... Parts>
void require(bool holds, const Parts&... what) {
  if (!holds) throw Finding((std::string() + ... + what));
}
/// Throws Finding with the first of these problems, if there is one.
inline void require_none(const std::vector<std::string>& problems, const char* where) {
  if (!problems.empty()) throw Finding(where + (": " + problems[0]));
}
/// Throws Finding unless both texts are equal.
inline void require_equal(const std::string& first, const std::string& second, const char* what) {
  require(first == second, what, "\n--- first\n", first, "\n--- second\n", second);
}
/// Throws Finding unless an error message is one line.
inline void require_line(const std::string& message) {
  require(!message.empty() && message.find('\n') == std::string::npos, "an error is not one line: ", message);
}

/// Writes a file of that name into a folder of this process, and returns its path. The folder is removed at the end.
[[nodiscard]] std::string scratch_file(const std::string& name, std::string_view content);

/// The lines of an input that is a script.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view input);

struct FuzzTarget {
  /// Adds itself to fuzz_targets(); for constants at namespace scope.
  FuzzTarget(const char* name, void (*run)(std::string_view input));
  const char* name;
  void (*run)(std::string_view input);
};
/// All targets of this program.
[[nodiscard]] const std::vector<FuzzTarget>& fuzz_targets();

}  // namespace berth::fuzz
