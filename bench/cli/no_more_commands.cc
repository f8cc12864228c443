#include "cli/commands.h"

namespace berth::cli {

void add_conform(CLI::App&, int&) {}
void add_plan(CLI::App&, int&) {}
void add_serve(CLI::App&, int&) {}

}  // namespace berth::cli
