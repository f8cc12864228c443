#include "cli/slowed_stage.h"

namespace berth::cli {

void add_slowdown(CLI::App&, std::string&) {}

std::unique_ptr<run::Observer> slowed_stage(const std::string&, run::Observer*) { return nullptr; }

}  // namespace berth::cli
