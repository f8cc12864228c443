// The server of a test.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "serve/start.h"

namespace berth::http {

/// A started server on a free port. Throws if it cannot be made, so that the test ends there.
[[nodiscard]] inline std::unique_ptr<Service> start_service(serve::ServiceOptions options) {
  options.listen = "127.0.0.1:0";
  auto service = serve::make_service(options);
  if (!service) throw std::runtime_error(service.error().line());
  (*service)->start();
  return std::move(*service);
}

}  // namespace berth::http
