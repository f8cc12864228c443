#include "run/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "base/build_info.h"

namespace berth::run {

Machine machine() {
  Machine out;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      if (colon != std::string::npos) out.cpu = line.substr(colon + 2);
      break;
    }
  struct utsname name {};
  if (uname(&name) == 0) out.system = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  out.cores = sysconf(_SC_NPROCESSORS_ONLN);
  out.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return out;
}

std::uint64_t memory_now() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  return statm >> size >> resident ? resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

json::Value machine_json() {
  const Machine here = machine();
  json::Value out = json::Value::object();
  out.set("cpu", here.cpu);
  out.set("cores", here.cores);
  out.set("memory_bytes", here.memory_bytes);
  out.set("system", here.system);
  return out;
}

json::Value build_json() {
  const base::BuildInfo& build = base::build_info();
  json::Value out = json::Value::object();
  out.set("version", build.version);
  out.set("commit", build.commit);
  out.set("compiler", build.compiler);
  out.set("flags", build.flags);
  out.set("build_type", build.build_type);
  out.set("sanitize", build.sanitize);
  out.set("isa_path", base::isa_path_used());
  return out;
}

}  // namespace berth::run
