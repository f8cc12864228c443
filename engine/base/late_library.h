// A shared library that is loaded when the first of its functions is called, not with the program.
//
// Why: libcurl and libarchive bring 45 libraries with them. Loaded at the start they cost every run 19 million
// instructions, and only imports use them. A call looks its function up by name: about 1 us, so this is for functions
// that are called by the request or the file, not by the row.
#pragma once

#include <utility>

namespace berth::base {

/// Address of a function in a library. Loads the library where it is not loaded yet; it stays until the end.
/// Throws std::runtime_error with the loader's words and a remedy if the library or the function is not there.
void* late_function(const char* library, const char* package, const char* name);

/// A library's function of type F. Declared under the function's own name in a namespace of the caller's, it stands for
/// it there: calls read as if the library were linked.
template <class F>
class LateFunction {
 public:
  constexpr LateFunction(const char* library, const char* package, const char* name)
      : library_(library), package_(package), name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) const {
    return reinterpret_cast<F*>(late_function(library_, package_, name_))(std::forward<Arguments>(arguments)...);
  }

 private:
  const char *library_, *package_, *name_;
};

}  // namespace berth::base
