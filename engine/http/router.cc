// Finds the route of a path, and common parts of requests: parameters (R-API-17, 40 to 51) and error texts.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "http/endpoint.h"
#include "http/go_json.h"
#include "io/json_parse.h"

namespace berth::http {

const std::string* Request::find(std::string_view key) const {
  for (const auto& [name, value] : query)
    if (name == key) return &value;
  return nullptr;
}

bool Channel::send(const std::vector<transport::TextRef>& line) {
  if (exchange_->closed()) return false;
  std::size_t bytes = 0;
  for (const transport::TextRef& text : line) bytes += text->text().size();
  const transport::Budget& budget = exchange_->budget();
  const std::size_t waiting = exchange_->queued();
  constexpr std::size_t kKeepsUp = 64 << 10;  // a reader with no more unsent bytes accepts a text of any size
  if (waiting > kKeepsUp && (waiting + bytes > std::min(kMost, budget.share()) || budget.is_exceeded())) {
    exchange_->abort();
    return false;
  }
  for (const transport::TextRef& text : line) exchange_->write(text);
  return true;
}

// ---------------------------------------------------------------- replies

void Reply::json_text(std::string text) {
  body_ = std::move(text);
  content_type_ = "application/json";
}

void Reply::text(int status, std::string text, std::string content_type) {
  status_ = status;
  body_ = std::move(text);
  content_type_ = std::move(content_type);
}

void Reply::fail(int status, std::string text) {
  failed_ = true;
  Reply::text(status, std::move(text));
}

void Reply::fail(std::string text) {
  constexpr std::string_view kFilter = "Filter expression cannot be used with other filter parameters";
  if (text.ends_with(kFilter)) return fail(400, std::string(kFilter));
  constexpr std::string_view kForbidden[] = {
      "Permission denied", "ACL token not found",
      "Job registration, dispatch, and scale are disabled by the scheduler configuration"};
  const bool forbidden =
      std::any_of(std::begin(kForbidden), std::end(kForbidden), [&](auto end) { return text.ends_with(end); });
  fail(forbidden ? 403 : 500, std::move(text));
}

void Reply::stream(Where where, NextPiece next, std::string content_type) {
  where_ = where;
  next_ = std::move(next);
  content_type_ = std::move(content_type);
}

void Reply::push(std::string heartbeat, Subscriber subscriber, std::string content_type, std::int64_t heartbeat_ns) {
  heartbeat_ = std::move(heartbeat);
  heartbeat_ns_ = heartbeat_ns;
  subscriber_ = std::move(subscriber);
  content_type_ = std::move(content_type);
  compress_ = false;
}

void Reply::close_websocket(std::uint16_t code, std::string reason) {
  websocket_code_ = code;
  body_ = std::move(reason);
}

std::function<void(Reply)> Reply::later() {
  is_later_ = true;
  deliver_ = std::make_shared<std::function<void(Reply)>>();
  return [deliver = deliver_](Reply reply) { (*deliver)(std::move(reply)); };
}

// ---------------------------------------------------------------- routes

void Router::add(Route route) {
  const std::size_t length = route.pattern.size();
  auto at = std::lower_bound(patterns_.begin(), patterns_.end(), length,
                             [](const Pattern& other, std::size_t own) { return other.length > own; });
  for (; at != patterns_.end() && at->length == length; ++at)
    if (at->routes[0].pattern == route.pattern) return at->routes.push_back(std::move(route));
  Pattern pattern;
  std::string_view rest = route.pattern;
  for (std::size_t star = rest.find('*'); star != std::string_view::npos; star = rest.find('*')) {
    pattern.literals.emplace_back(rest.substr(0, star));
    rest.remove_prefix(star + 1);
  }
  pattern.literals.emplace_back(rest);
  pattern.length = length;
  pattern.routes.push_back(std::move(route));
  patterns_.insert(at, std::move(pattern));
}

std::vector<std::string> Router::set_needs(const std::function<const Need*(const Route&)>& need_of) {
  std::vector<std::string> without;
  for (Pattern& pattern : patterns_)
    for (Route& route : pattern.routes)
      if (const Need* need = need_of(route))
        route.need = *need;
      else
        without.push_back(route.pattern);
  return without;
}

namespace {

/// Matches `path` and captures the stars between `literals`; false: no match. A star that is not the last captures as
/// little as possible, except the one before the last literal, which captures the rest.
bool captures_of(const std::vector<std::string>& literals, std::string_view path, std::vector<std::string>& captures) {
  captures.clear();
  if (literals.size() == 1) return path == literals.front();
  if (!path.starts_with(literals.front())) return false;
  path.remove_prefix(literals.front().size());
  for (std::size_t i = 1; i + 1 < literals.size(); ++i) {
    const std::size_t at = path.find(literals[i]);
    if (at == std::string_view::npos) return false;
    captures.emplace_back(path.substr(0, at));
    path.remove_prefix(at + literals[i].size());
  }
  if (!path.ends_with(literals.back())) return false;
  path.remove_suffix(literals.back().size());
  captures.emplace_back(path);
  return true;
}

std::uint8_t bit_of(std::string_view method) {
  if (method == "GET") return kGet;
  if (method == "PUT") return kPut;
  if (method == "POST") return kPost;
  return method == "DELETE" ? kDelete : kOtherMethods;
}

}  // namespace

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  for (const Pattern& pattern : patterns_) {
    if (!captures_of(pattern.literals, path, match.captures)) continue;
    match.known_path = true;
    for (const Route& route : pattern.routes)
      if ((route.methods & bit_of(method)) != 0) match.route = &route;
    return match;
  }
  return match;
}

std::vector<const Route*> Router::routes() const {
  std::vector<const Route*> out;
  for (const Pattern& pattern : patterns_)
    for (const Route& route : pattern.routes) out.push_back(&route);
  std::stable_sort(out.begin(), out.end(), [](const Route* a, const Route* b) { return a->pattern < b->pattern; });
  return out;
}

// ---------------------------------------------------------------- for handlers

namespace {

/// Length of the first JSON value of a text; npos: it is incomplete.
std::size_t first_value(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false, begun = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
      if (!quoted && depth == 0) return i + 1;
      continue;
    }
    if (c == '"') {
      quoted = begun = true;
    } else if (c == '{' || c == '[') {
      begun = true, ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return i + 1;
      --depth;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (begun && depth == 0) return i;
    } else {
      begun = true;
    }
  }
  return begun && depth == 0 && !quoted ? text.size() : std::string_view::npos;
}

}  // namespace

std::optional<json::Value> json_body(const Request& request, Reply& reply) {
  if (request.body.empty()) {
    reply.fail(400, "Request body is empty");
    return std::nullopt;
  }
  // Text after the first value is ignored (R-API-15).
  const std::size_t size = first_value(request.body);
  auto value = io::parse_json(std::string_view(request.body).substr(0, size), "request");
  if (value) return std::move(*value);
  // Values that Go's decoder accepts and this one does not, e.g. numbers of more than 64 bits, get berth's own text.
  reply.fail(400, go_json_problem(request.body).value_or(value.error().problem));
  return std::nullopt;
}

std::optional<bool> bool_parameter(const Request& request, std::string_view name, Reply& reply) {
  const std::string* text = request.find(name);
  if (!text || text->empty()) return false;
  const auto value = base::parse_bool(*text);
  if (!value)
    reply.fail("Failed to parse value of " + base::go_quote(name) + " (" + *text +
               ") as a bool: strconv.ParseBool: parsing " + base::go_quote(*text) + ": invalid syntax");
  return value;
}

std::optional<std::int64_t> int_parameter(const Request& request, std::string_view name, Reply& reply) {
  const std::string* text = request.find(name);
  if (!text || text->empty()) return 0;
  const auto value = base::parse_int64(*text);
  if (!value)
    reply.fail("Failed to parse value of " + base::go_quote(name) + " (" + *text +
               ") as a int: strconv.Atoi: parsing " + base::go_quote(*text) + ": invalid syntax");
  return value;
}

}  // namespace berth::http
