#include "profile/flame.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "io/files.h"
#include "report/page.h"
#include "run/processes.h"

namespace berth::profile {

using base::Stage;
using report::escaped;

namespace {

struct Frame {
  std::string name;
  std::uint64_t weight = 0;
  std::map<std::string, Frame> children;
};

constexpr double kWidth = 1200, kRow = 17;

std::size_t depth_of(const Frame& frame) {
  std::size_t depth = 0;
  for (const auto& [name, child] : frame.children) depth = std::max(depth, depth_of(child));
  return depth + 1;
}

void draw(std::string& out, const Frame& frame, double x, std::size_t level, std::size_t levels, std::uint64_t whole,
          const std::string& unit) {
  const double width = kWidth * static_cast<double>(frame.weight) / static_cast<double>(whole);
  if (width < 0.3) return;
  const double y = 40 + kRow * static_cast<double>(levels - 1 - level);
  unsigned hash = 2166136261U;
  for (const char c : frame.name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  const std::string name = escaped(frame.name);
  out += fmt::format(
      R"x(<g><title>{} ({} {}, {:.2f} %)</title><rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{}" fill="hsl({},{}%,68%)"/>)x",
      name, frame.weight, unit, 100.0 * static_cast<double>(frame.weight) / static_cast<double>(whole), x, y, width,
      kRow - 1, 20 + hash % 40, 60 + hash / 64 % 30);
  if (const auto letters = static_cast<std::size_t>(width / 6.6); letters >= 4)
    out += fmt::format(R"(<text x="{:.2f}" y="{:.1f}">{}</text>)", x + 3, y + 12,
                       frame.name.size() <= letters ? name : escaped(frame.name.substr(0, letters - 2)) + "..");
  out += "</g>\n";
  for (const auto& [key, child] : frame.children) {
    draw(out, child, x, level + 1, levels, whole, unit);
    x += kWidth * static_cast<double>(child.weight) / static_cast<double>(whole);
  }
}

}  // namespace

PerfSampler::PerfSampler() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    why_ = "no pipe to perf";
    return;
  }
  const std::string pid = std::to_string(getpid());
  child_ = run::start_child([&] {
    dup2(ends[1], STDERR_FILENO);
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDOUT_FILENO);
    execlp("perf", "perf", "record", "-q", "-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf,8192", "-o",
           samples_.path().c_str(), "-p", pid.c_str(), static_cast<char*>(nullptr));
    return 127;
  });
  close(ends[1]);
  // If perf cannot sample, it ends at once with a reason; else it keeps the pipe open without output.
  std::string said;
  for (int waited_ms = 0; waited_ms < 400 && child_ > 0; waited_ms += 20) {
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) == child_) {
      char buffer[512];
      const ssize_t n = read(ends[0], buffer, sizeof buffer);
      if (n > 0) said.assign(buffer, static_cast<std::size_t>(n));
      why_ = WIFEXITED(status) && WEXITSTATUS(status) == 127
                 ? "perf is not installed (apt-get install linux-perf)"
                 : "perf cannot sample here: " + std::string(base::split(said, '\n').front());
      child_ = -1;
      break;
    }
    usleep(20'000);
  }
  close(ends[0]);
}

void PerfSampler::end() {
  if (child_ > 0) {
    kill(child_, SIGINT);  // perf writes its file and ends
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
  }
}

PerfSampler::~PerfSampler() { end(); }

Stacks PerfSampler::stop() {
  if (child_ <= 0) return {};
  end();
  const run::TemporaryFile text;
  const auto done = run::run_program({"perf", "script", "--no-inline", "-i", samples_.path(), "-F", "comm,ip,sym"},
                                     {.log = text.path(), .errors = false});
  Stacks out = collapse_perf_script(done ? io::read_file(text.path()).value_or("") : "");
  if (out.empty()) why_ = "perf took no samples";
  return out;
}

Stacks collapse_perf_script(std::string_view text) {
  Stacks out;
  std::vector<std::string> frames;  // innermost first
  std::string command;
  const auto close_stack = [&] {
    if (!frames.empty()) {
      std::string stack = command;
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) stack += ";" + *frame;
      ++out[stack];
    }
    frames.clear();
  };
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
      close_stack();
      continue;
    }
    if (begin == 0) {  // a new sample: the name of the command
      close_stack();
      command = std::string(line.substr(0, line.find_last_not_of(" \t") + 1));
      continue;
    }
    const std::size_t space = line.find(' ', begin);
    std::string name(space == std::string_view::npos ? "[unknown]" : line.substr(space + 1));
    for (char& c : name)
      if (c == ';') c = ':';
    frames.push_back(std::move(name));
  }
  close_stack();
  return out;
}

Stacks collapse_stages(const Profile& profile) {
  Stacks out;
  for (const StageRow& row : profile.stages.rows) {
    const char* parent = "berth;evaluation";
    switch (row.stage) {
      case Stage::compile:
        parent = "berth;registration";
        break;
      case Stage::check:
      case Stage::commit:
        parent = "berth;applier";
        break;
      case Stage::place:
      case Stage::filter:
      case Stage::rank:
      case Stage::plan:
      case Stage::preempt:
        parent = "berth;evaluation;placing";
        break;
      default:
        break;
    }
    if (const auto us = static_cast<std::uint64_t>(row.ns / 1e3); us > 0)
      out[fmt::format("{};{}", parent, base::to_text(row.stage))] = us;
  }
  return out;
}

std::string to_text(const Stacks& stacks) {
  std::string out;
  for (const auto& [stack, weight] : stacks) out += fmt::format("{} {}\n", stack, weight);
  return out;
}

std::string to_svg(const Stacks& stacks, const std::string& title, const std::string& unit) {
  Frame root;
  root.name = "all";
  for (const auto& [stack, weight] : stacks) {
    root.weight += weight;
    Frame* at = &root;
    for (const std::string_view name : base::split(stack, ';')) {
      at = &at->children[std::string(name)];
      at->name = std::string(name);
      at->weight += weight;
    }
  }
  const std::size_t levels = depth_of(root);
  const double height = 50 + kRow * static_cast<double>(levels);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"100%\" "
      "font-family=\"monospace\" "
      "font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fdfdf8\"/>\n"
      "<text x=\"6\" y=\"20\" font-size=\"14\">{}</text>\n",
      kWidth, height, escaped(title));
  if (root.weight > 0) draw(out, root, 0, 0, levels, root.weight, unit);
  return out + "</svg>\n";
}

}  // namespace berth::profile
