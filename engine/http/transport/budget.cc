#include "http/transport/budget.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace berth::http::transport {

std::size_t Budget::quarter_of_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  std::size_t bytes =
      pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : std::size_t{4} << 30;
  std::size_t limit = 0;
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (std::ifstream file(path); file >> limit) bytes = std::min(bytes, limit);  // "max" is no number
  return std::max<std::size_t>(bytes / 4, std::size_t{64} << 20);
}

}  // namespace berth::http::transport
