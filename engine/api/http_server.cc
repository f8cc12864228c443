// Implements berth/http_server.h.
#include "berth/http_server.h"

#include "http/service.h"
#include "io/export_import.h"
#include "io/json_parse.h"

namespace berth {

struct HttpServer::Impl {
  std::unique_ptr<http::Service> service;
};

namespace {

/// Listens. An address that is taken is found before a long import.
Result<std::unique_ptr<http::Service>> listen(const HttpConfig& config) {
  const auto speed = http::Speed::parse(config.speed);
  if (!speed)
    return tl::unexpected(InputError{"HttpConfig", "speed", "'" + config.speed + "' is no speed",
                                     "write how many times real time, for example 1 or 100, or max, or step"});
  http::ServiceOptions options;
  options.listen = config.listen;
  options.simulation.speed = *speed;
  options.access.token = config.token, options.access.acl = config.acl;
  return http::Service::listen(options);
}

/// Serves the cluster that `read()` gives.
template <class Read>
Result<std::unique_ptr<http::Service>> serve(const HttpConfig& config, Read read) {
  auto service = listen(config);
  if (!service) return service;
  Result<io::ClusterImport> imported = read();
  if (!imported) return tl::unexpected(imported.error());
  living::Config life;
  life.seed = config.seed, life.start_ns = config.start_ns;
  life.server.workers = std::max<std::uint32_t>(config.workers, 1);
  life.server.execution = config.workers > 1 ? server::Execution::ahead : server::Execution::inline_;
  http::Start start{.config = http::served(std::move(life)), .state = std::move(imported->state)};
  start.warnings = std::move(imported->warnings);
  (*service)->open(std::move(start));
  (*service)->start();
  return service;
}

}  // namespace

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::from_file(const std::string& path, const HttpConfig& config) {
  auto service = serve(config, [&] { return io::import_cluster(path); });
  if (!service) return tl::unexpected(service.error());
  return HttpServer(std::make_unique<Impl>(std::move(*service)));
}

Result<HttpServer> HttpServer::from_json(std::string_view text, const HttpConfig& config) {
  auto service = serve(config, [&]() -> Result<io::ClusterImport> {
    const auto value = io::parse_json(text);
    if (!value) return tl::unexpected(value.error());
    return io::import_cluster_json(*value, "-");
  });
  if (!service) return tl::unexpected(service.error());
  return HttpServer(std::make_unique<Impl>(std::move(*service)));
}

std::string HttpServer::address() const { return impl_->service->address(); }
const std::vector<std::string>& HttpServer::load_warnings() const { return impl_->service->warnings(); }

}  // namespace berth
