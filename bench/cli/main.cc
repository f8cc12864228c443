// What holds for all commands: exit codes, signals, what happens when memory or threads run out, limits of input.
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "base/build_info.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/files.h"
#include "run/interrupt.h"

namespace {

constexpr char kOutOfMemory[] = "berth: out of memory; give it more, or a smaller input\n";

std::atomic_flag ending = ATOMIC_FLAG_INIT;

/// Says one line without asking for memory and ends the program; other threads may hold any lock.
template <std::size_t kSize>
[[noreturn]] void end_with(const char (&line)[kSize]) {
  while (ending.test_and_set()) pause();  // another thread is about to end the program
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, kSize - 1);
  _exit(1);
}

int failed(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const std::length_error*>(&error))
    end_with(kOutOfMemory);
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  const bool no_thread = std::string_view(error.what()).find("pthread_create") != std::string_view::npos;  // oneTBB's
  if (no_thread || (system && system->code() == std::errc::resource_unavailable_try_again))
    end_with(
        "berth: cannot start a thread; use fewer workers, or allow more threads or memory (ulimit -u, ulimit -v)\n");
  return berth::cli::report_error({"berth", "", error.what(), ""}, 1);
}

/// What nobody catches: it came out of a thread, or out of a function that promised to throw nothing.
[[noreturn]] void on_terminate() {
  if (const std::exception_ptr current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (const std::exception& error) {
      failed(error);
      _exit(1);
    } catch (...) {
      end_with("berth: ended by an unknown exception, which is an error of berth\n");
    }
  }
  std::abort();
}

/// Standard streams that are closed: the next file that is opened would take their place.
void open_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

void set_read_limit(const std::string& text) {
  const auto bytes = berth::io::parse_size(text);
  if (!bytes) throw CLI::ValidationError("--max-input", "'" + text + "' is no size; write e.g. 500M or 4G");
  berth::io::set_read_limit(*bytes);
}

/// "" or what is wrong with the text of a number: CLI11 takes -1 for 2^64 - 1, 99999999999999999999 for the greatest
/// number there is, 010 for 8 and inf for a time.
std::string number_problem(const std::string& type, const std::string& text) {
  const auto refused = [&](const char* what) { return fmt::format("'{}' {}", berth::base::shown(text), what); };
  if (type.starts_with("UINT")) {
    if (text.starts_with('-')) return refused("cannot be negative");
    return berth::base::parse_uint64(text) ? "" : refused("is no whole number from 0 to 18446744073709551615");
  }
  if (type.starts_with("INT"))
    return berth::base::parse_int64(text)
               ? ""
               : refused("is no whole number from -9223372036854775808 to 9223372036854775807");
  const auto number = berth::base::parse_double(text);
  return number && std::isfinite(*number) ? "" : refused("is no number");
}

void check_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (!type.starts_with("UINT") && !type.starts_with("INT") && !type.starts_with("FLOAT")) continue;
    // Before whatever range it has: that would be held against a number which is not the one that was written.
    option->transform(CLI::Validator([type](std::string& text) { return number_problem(type, text); }, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) check_numbers(*command);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  std::set_new_handler([] { end_with(kOutOfMemory); });
  std::set_terminate(on_terminate);
  berth::run::catch_signals();
  CLI::App app("berth: Nomad's scheduling semantics as an in-process engine, and a benchmark", "berth");
  app.set_help_flag("-h,--help", "print this help and exit");
  app.formatter(berth::cli::plain_help());  // which the commands inherit
  app.require_subcommand(1);
  app.set_version_flag("--version", berth::base::version_text(), "print version, commit, compiler and ISA paths");
  app.add_option_function<std::string>(
         "--max-input", set_read_limit,
         "largest size of an input file, also once unpacked, e.g. 500M or 4G (default: 1G)")
      ->trigger_on_parse();
  int exit_code = 0;
  berth::cli::add_run(app, exit_code);
  berth::cli::add_sweep(app, exit_code);
  berth::cli::add_profile(app, exit_code);
  berth::cli::add_load(app, exit_code);
  berth::cli::add_compare(app, exit_code);
  berth::cli::add_gate(app, exit_code);
  berth::cli::add_report(app, exit_code);
  berth::cli::add_conform(app, exit_code);
  berth::cli::add_import(app, exit_code);
  berth::cli::add_plan(app, exit_code);
  berth::cli::add_serve(app, exit_code);
  berth::cli::add_completion(app, exit_code);
  berth::cli::add_man(app, exit_code);
  check_numbers(app);
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    errno = 0;
    exit_code = app.exit(error) == 0 ? 0 : 2;
    berth::cli::note_text_error();
  } catch (const std::exception& error) {
    exit_code = failed(error);
  }
  return berth::cli::end_text(exit_code);
}
