#include "gate/instructions.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include "base/text.h"
#include "io/files.h"

namespace berth::gate {
namespace {

constexpr std::string_view kPath = "AVX2";

/// A program that counts the instructions of another one.
struct Counter {
  std::vector<std::string> (*words)(const std::string& file);  ///< command line; writes its count to `file`
  /// Reads the text of that file; nullopt if it has no count.
  std::optional<std::uint64_t> (*count)(const std::string& text);
  std::string (*name)(const std::string& text);
};

/// The number up to the next character that is neither a digit nor a comma.
std::optional<std::uint64_t> grouped_number(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c >= '0' && c <= '9')
      digits += c;
    else if (c != ',')
      break;
  }
  return base::parse_uint64(digits);
}

constexpr Counter kValgrind{
    [](const std::string& file) {
      return std::vector<std::string>{"valgrind", "--tool=cachegrind", "--cache-sim=no",
                                      "--cachegrind-out-file=/dev/null", "--log-file=" + file};
    },
    [](const std::string& text) -> std::optional<std::uint64_t> {  // "==123== I   refs:      197,331,196"
      constexpr std::string_view kRefs = "refs:";
      const std::size_t at = text.rfind(kRefs);
      if (at == std::string::npos) return std::nullopt;
      return grouped_number(base::trim_space(std::string_view(text).substr(at + kRefs.size())));
    },
    [](const std::string& text) -> std::string {  // "==123== Using Valgrind-3.19.0 and LibVEX; ..."
      constexpr std::string_view kUsing = "Using Valgrind-";
      const std::size_t at = text.find(kUsing);
      if (at == std::string::npos) return "valgrind";
      return "valgrind " + text.substr(at + kUsing.size(), text.find(' ', at + kUsing.size()) - at - kUsing.size());
    }};

constexpr Counter kPerf{
    [](const std::string& file) {
      return std::vector<std::string>{"perf", "stat", "-x", ";", "-e", "instructions:u", "-o", file, "--"};
    },
    [](const std::string& text) -> std::optional<std::uint64_t> {  // "197331196;;instructions:u;..."
      for (const std::string_view line : base::split(text, '\n'))
        if (line.find("instructions") != std::string_view::npos && !line.starts_with('#')) return grouped_number(line);
      return std::nullopt;
    },
    [](const std::string&) -> std::string { return "perf"; }};

/// Counts with one counter; nullopt if it is not installed or cannot count on this machine.
Outcome<std::optional<InstructionCount>> count_by(const Counter& counter, const Command& command, const Case& what,
                                                  const MeasureOptions& options) {
  const run::TemporaryFile json, log, counts;
  std::vector<std::string> arguments = counter.words(counts.path());
  const std::string program = arguments.front();
  for (std::string& word : command.arguments(what, json.path())) arguments.push_back(std::move(word));
  const bool forced = !command.is_template() && !command.has_word("--isa");
  if (forced) arguments.insert(arguments.end(), {"--isa", std::string(kPath)});
  const auto end = run::run_program(
      arguments, {.folder = "", .log = log.path(), .timeout_seconds = 50 * options.timeout_seconds, .cores = 0});
  if (!end && !run::interrupted()) return std::nullopt;  // it is not installed
  if (!end) return failure_of(end.error());
  const std::string text = io::read_file(counts.path()).value_or("");
  const bool ran = (end->fine() || end->exit_code == kRegression) &&
                   io::read_file(json.path()).value_or("").find_first_not_of(" \t\r\n") != std::string::npos;
  if (!ran && program == "perf" && text.empty()) return std::nullopt;  // the kernel does not permit counting
  if (!ran)
    return fail(kOwnFailure, command.text(),
                fmt::format("under {} it {}: {}", program, end->words(),
                            run::last_line(io::read_file(log.path()).value_or("") + "\n" + text)),
                "leave --instructions out for this case", what.name());
  const auto count = counter.count(text);
  if (!count || *count == 0) return std::nullopt;
  return InstructionCount{static_cast<double>(*count),
                          fmt::format("{}{}, glibc {}", counter.name(text),
                                      forced ? fmt::format(", ISA path {}", kPath) : "", gnu_get_libc_version())};
}

}  // namespace

Outcome<InstructionCount> count_instructions(const Command& command, const Case& what, const MeasureOptions& options) {
  for (const Counter* counter : {&kValgrind, &kPerf}) {
    auto counted = count_by(*counter, command, what, options);
    if (!counted) return tl::unexpected(counted.error());
    if (*counted) return std::move(**counted);
  }
  return fail(kUsage, "berth gate", "valgrind is not installed, and perf counts no instructions here",
              "apt-get install valgrind, or leave --instructions out", "--instructions");
}

}  // namespace berth::gate
