// The status page (R-API-2) and its stream of updates.
#include "http/endpoints/endpoints.h"
#include "http/page/live_view.h"
#include "page_sources.h"

namespace berth::http {

namespace {

std::string page_text() {
  std::string out(kPageHtml);
  const auto put = [&](std::string_view mark, std::string_view text) {
    out.replace(out.find(mark), mark.size(), text);
  };
  put("@CSS@", kPageCss), put("@JS@", kPageJs);
  return out;
}

void to_page(Simulation&, const Request&, Reply& reply) {
  reply.text(307, "<a href=\"/ui/\">Temporary Redirect</a>.\n\n", "text/html; charset=utf-8");
  reply.header("Location", "/ui/");
}

void page(Simulation&, const Request&, Reply& reply) {
  static const std::string kPage = page_text();
  reply.header("Content-Security-Policy",
               "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
               "img-src 'self' data:; frame-ancestors 'self'");
  reply.text(200, kPage, "text/html; charset=utf-8");
}

}  // namespace

void add_page_routes(Router& router) {
  auto view = std::make_shared<LiveView>();
  router.attach([view](Simulation& simulation) { view->attach(simulation); });
  router.plain("/", to_page);
  router.plain("/ui", to_page);
  router.plain("/ui/", page);
  router.plain("/ui/*", page);
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
