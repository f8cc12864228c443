// Uses nothing but the installed public headers and berth::berth.
#include <berth/result.h>

#include <cstdio>

namespace {

berth::Result<int> count_of(const char* text) {
  if (text[0] < '0' || text[0] > '9')
    return tl::unexpected(berth::InputError{"job.json", "/Count", "is no number", ""});
  return text[0] - '0';
}

}  // namespace

int main() {
  const auto good = count_of("3"), bad = count_of("x");
  if (!good || *good != 3 || bad) return 1;
  std::puts(bad.error().line().c_str());
  return bad.error().line() == "job.json:/Count: is no number" ? 0 : 1;
}
