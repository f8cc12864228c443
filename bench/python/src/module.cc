#include "module.h"

#include "berth/berth.h"

namespace berth::python {

void fail(const InputError& error) { throw Failure(error.line()); }
void fail(const Error& error) {
  if (error.code == Errc::unknown_object) throw Unknown(error.text);
  throw Failure(error.text);
}

std::string json_of(const py::object& value) {
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  return py::module_::import("json").attr("dumps")(value).cast<std::string>();
}

}  // namespace berth::python

PYBIND11_MODULE(_berth, module) {
  namespace python = berth::python;
  module.doc() = "The compiled part of the package berth.";
  module.attr("__version__") = berth_version();
  const auto error = pybind11::register_exception<python::Failure>(module, "Error", PyExc_ValueError);
  pybind11::register_exception<python::Unknown>(module, "UnknownObject", error.ptr());
  python::bind_values(module);
  python::bind_cluster(module);
  python::bind_living_cluster(module);
  python::bind_strategies(module);
  python::bind_worlds(module);
}
