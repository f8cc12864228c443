#include "cli/outputs.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "base/printable.h"
#include "cli/terminal.h"
#include "io/output.h"

namespace berth::cli {
namespace {

std::FILE* g_text_to = nullptr;  // null: standard output
int g_failure_code = 1;
bool g_told = false;   // the error of standard output was reported
int g_text_error = 0;  // errno of the first text that was not written

void print_coloured(std::string_view text, bool diff) {
  const std::string shown = base::printable(text, true);
  print_raw(has_colours(g_text_to ? g_text_to : stdout) ? coloured(shown, diff) : shown);
}

}  // namespace

void print_text(std::string_view text) { print_coloured(text, false); }
void print_diff(std::string_view text) { print_coloured(text, true); }

void print_raw(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), g_text_to ? g_text_to : stdout) != text.size() && g_text_error == 0)
    g_text_error = errno;
}

void say_line(const std::string& line) {
  std::fputs(((has_colours(stderr) ? coloured(line, false) : line) + "\n").c_str(), stderr);
}

int report_error(const InputError& error, int exit_code) {
  // "berth run: --label: ..." for an option of a command, "file.json:3: ..." for a place in a file
  const bool of_command = error.path.starts_with("berth ") && !error.place.empty();
  say_line(base::printable(of_command ? error.path + ": " + error.place + ": " + error.reason() : error.line(), false));
  return exit_code;
}

void set_failure_code(int code) { g_failure_code = code; }

void note_text_error() {
  if (g_text_error == 0 && (!std::cout.good() || std::ferror(stdout) != 0)) g_text_error = errno != 0 ? errno : EIO;
}

int end_text(int exit_code) {
  if (g_told) return g_failure_code;
  errno = 0;
  std::cout.flush();
  std::fflush(stdout);
  note_text_error();
  if (g_text_error == 0) return exit_code;
  return report_error({"standard output", "", std::string("cannot be written: ") + std::strerror(g_text_error),
                       "free some space or redirect it elsewhere"},
                      g_failure_code);
}

void Outputs::input(const std::string& path) {
  if (!path.empty()) inputs_.push_back(path);
}

void Outputs::output(const char* option, const std::string& path) {
  if (!path.empty()) outputs_.push_back({option, path});
}

Result<void> Outputs::check() const {
  const auto problem = [](const File& file, std::string what, std::string remedy = "name another file") {
    return tl::unexpected(InputError{file.path, "", std::move(what), std::move(remedy)});
  };
  const auto is_stdout = [](const File& file) { return io::is_standard_output(file.path); };
  const std::optional<std::string> stdout_file = io::file_identity("-");
  std::vector<std::optional<std::string>> identities;
  for (const File& file : outputs_) {
    if (auto fine = io::check_output(file.path); !fine)
      return problem(file, std::move(fine.error().problem), std::move(fine.error().remedy));
    identities.push_back(io::file_identity(file.path));
    const auto& own = identities.back();
    if (own && !is_stdout(file) && own == stdout_file)
      return problem(file, "is standard output as well as " + file.option);
    for (const std::string& input : inputs_)
      if (input != "-" && own && own == io::file_identity(input))
        return problem(file, "is an input, and " + file.option + " would write over it");
    for (std::size_t i = 0; i + 1 < identities.size(); ++i)
      if ((own && own == identities[i]) || (is_stdout(file) && is_stdout(outputs_[i])))
        return problem(file, "is named by " + outputs_[i].option + " and by " + file.option);
  }
  g_text_to = std::any_of(outputs_.begin(), outputs_.end(), is_stdout) ? stderr : nullptr;
  return {};
}

int Outputs::write(const std::string& path, std::string_view content) {
  if (path.empty()) return 0;
  auto done = io::write_output(path, content);
  if (done) return 0;
  g_told = g_told || io::is_standard_output(path);
  return report_error(done.error(), 1);
}

}  // namespace berth::cli
