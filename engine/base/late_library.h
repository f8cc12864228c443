// A shared library that is loaded when the first of its functions is called, not with the program.
//
// Why: libcurl and libarchive bring 45 libraries with them. Loaded at start-up they cost every run 19 million
// instructions, and only imports use them. A call looks its function up by name, which takes about 1 us. So use it
// for functions called per request or per file, not per row.
#pragma once

#include <utility>

namespace berth::base {

struct LateLibrary {
  const char *file, *package;  ///< the name the loader looks for; the Debian package that has it
};

/// Returns the address of a function in a library. Loads the library on first use; it stays loaded until the program
/// ends. Throws std::runtime_error with the loader's message and a remedy if the library or the function is missing.
void* late_function(const LateLibrary& library, const char* name);

/// A library function of type F. BERTH_LATE(library, name) declares it in a namespace under the function's own name, so
/// that calls there read as if the library were linked.
template <class F>
class LateFunction {
 public:
  constexpr LateFunction(LateLibrary library, const char* name) : library_(library), name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) const {
    return reinterpret_cast<F*>(late_function(library_, name_))(std::forward<Arguments>(arguments)...);
  }

 private:
  LateLibrary library_;
  const char* name_;
};

#define BERTH_LATE(library, name) \
  constexpr berth::base::LateFunction<decltype(::name)> name { library, #name }

}  // namespace berth::base
