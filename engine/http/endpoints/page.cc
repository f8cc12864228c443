// The status page (R-API-2) and its stream of updates.
#include <algorithm>
#include <iterator>

#include "http/endpoints/endpoints.h"
#include "http/page/live_view.h"
#include "page_sources.h"

namespace berth::http {

namespace {

/// Sends a file of the page. The browser runs no scripts but these files, and loads nothing from other servers.
void send_file(const PageFile& file, Reply& reply) {
  reply.header("Content-Security-Policy",
               "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
               "base-uri 'none'; form-action 'none'; frame-ancestors 'self'");
  reply.header("X-Content-Type-Options", "nosniff");
  reply.header("Cache-Control", "no-cache");
  const char* type = file.name.ends_with(".js")    ? "text/javascript; charset=utf-8"
                     : file.name.ends_with(".css") ? "text/css; charset=utf-8"
                                                   : "text/html; charset=utf-8";
  reply.text(200, std::string(file.text), type);
}

const PageFile* find_file(std::string_view name) {
  const auto* found = std::find_if(std::begin(kPageFiles), std::end(kPageFiles),
                                   [&](const PageFile& file) { return file.name == name; });
  return found == std::end(kPageFiles) ? nullptr : found;
}

void to_page(Simulation&, const Request&, Reply& reply) {
  reply.text(307, "<a href=\"/ui/\">Temporary Redirect</a>.\n\n", "text/html; charset=utf-8");
  reply.header("Location", "/ui/");
}

/// Every address below /ui/ is the same page, whose script shows what the address names.
void page(Simulation&, const Request&, Reply& reply) { send_file(*find_file("index.html"), reply); }

void page_part(Simulation&, const Request& request, Reply& reply) {
  const PageFile* file = find_file(request.captures[0]);
  if (!file) return reply.fail(404, "the page has no such file");
  send_file(*file, reply);
}

}  // namespace

void add_page_routes(Router& router) {
  auto view = std::make_shared<LiveView>();
  router.attach([view](Simulation& simulation) { view->attach(simulation); });
  router.plain("/", to_page);
  router.plain("/ui", to_page);
  router.plain("/ui/", page);
  router.plain("/ui/*", page);
  router.plain("/ui/files/*", page_part);
  router.plain("/v1/berth/live", [view](Simulation&, const Request&, Reply& reply) {
    reply.header("Cache-Control", "no-cache");
    reply.push(
        "",
        [view](const std::shared_ptr<Channel>& channel) {
          view->subscribe([channel](const transport::TextRef& text) { return channel->send({text}); });
        },
        "text/event-stream");
  });
}

}  // namespace berth::http
