#include "cli/whole_program.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "cli/outputs.h"
#include "run/interrupt.h"

namespace berth::cli {
namespace {

constexpr char kOutOfMemory[] = "berth: out of memory; give it more, or a smaller input\n";

std::atomic_flag ending = ATOMIC_FLAG_INIT;

/// Prints one line without allocating memory and ends the program; other threads may hold any lock.
template <std::size_t kSize>
[[noreturn]] void end_with(const char (&line)[kSize]) {
  while (ending.test_and_set()) pause();  // another thread is about to end the program
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, kSize - 1);
  _exit(1);
}

/// Handler for uncaught exceptions: from a thread, or from a noexcept function.
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

/// Opens closed standard streams, because the next opened file would take their descriptor.
void open_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

}  // namespace

void out_of_memory() { end_with(kOutOfMemory); }

void begin_program() {
  open_standard_streams();
  std::set_new_handler(out_of_memory);
  std::set_terminate(on_terminate);
  run::catch_signals();
}

int failed(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const std::length_error*>(&error)) out_of_memory();
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  const bool no_thread = std::string_view(error.what()).find("pthread_create") != std::string_view::npos;  // oneTBB's
  if (no_thread || (system && system->code() == std::errc::resource_unavailable_try_again))
    end_with(
        "berth: cannot start a thread; use fewer workers, or allow more threads or memory (ulimit -u, ulimit -v)\n");
  return report_error({"berth", "", error.what(), ""}, 1);
}

}  // namespace berth::cli
