// The extension module `berth._berth`: declarations shared by its files.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "berth/job.h"
#include "berth/result.h"

namespace berth::python {

namespace py = pybind11;

/// Raised as berth.Error, with the engine's text.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Raised as berth.UnknownObject, a kind of berth.Error.
struct Unknown : Failure {
  using Failure::Failure;
};

[[noreturn]] void fail(const InputError& error);
[[noreturn]] void fail(const Error& error);

template <class T, class E>
T take(Result<T, E>&& result) {
  if (!result) fail(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// JSON text of a Python argument: a dict, a list, or text.
[[nodiscard]] std::string json_of(const py::object& value);

/// A read-only array over a vector that `owner` keeps alive, without a copy.
template <class T>
py::array column(const std::vector<T>& values, const py::object& owner) {
  py::array out(py::dtype::of<T>(), {values.size()}, {sizeof(T)}, values.data(), owner);
  out.attr("setflags")(py::arg("write") = false);
  return out;
}

/// A Job from a Job, a dict or JSON text.
[[nodiscard]] Job job_of(const py::object& value);

void bind_values(py::module_& module);
void bind_cluster(py::module_& module);
void bind_living_cluster(py::module_& module);
void bind_strategies(py::module_& module);
void bind_worlds(py::module_& module);

}  // namespace berth::python
