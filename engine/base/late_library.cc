#include "base/late_library.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace berth::base {

void* late_function(const LateLibrary& library, const char* name) {
  // The loader counts references to a library and loads it only once.
  void* const loaded = dlopen(library.file, RTLD_LAZY | RTLD_LOCAL);
  void* const function = loaded ? dlsym(loaded, name) : nullptr;
  if (!function) throw std::runtime_error(std::string(dlerror()) + "; remedy: apt-get install " + library.package);
  return function;
}

}  // namespace berth::base
