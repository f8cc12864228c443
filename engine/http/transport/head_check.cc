#include "http/transport/head_check.h"

#include <algorithm>
#include <utility>

namespace berth::http::transport {

namespace {

bool is_token_character(char c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool equal_ignoring_case(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(), [](char x, char y) {
           return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y;
         });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_length(std::string_view text) {
  constexpr std::size_t kDigitsMost = 18;  // below 2^63
  return !text.empty() && text.size() <= kDigitsMost &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string head_problem(std::string_view head) {
  if (head.find('\0') != std::string_view::npos) return "a NUL byte in the head";
  bool is_first = true, is_old = false;
  int encodings = 0, lengths = 0, hosts = 0;
  while (!head.empty()) {
    const std::size_t end = head.find_first_of("\r\n");
    if (end == std::string_view::npos || !head.substr(end).starts_with("\r\n"))
      return "a line of the head does not end with CR LF";
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.empty()) break;
    if (std::exchange(is_first, false)) {
      is_old = line.ends_with("HTTP/1.0");
      continue;
    }
    if (line.front() == ' ' || line.front() == '\t') return "a header field continues on the next line";
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() || !std::all_of(name.begin(), name.end(), is_token_character))
      return "a line of the head is no header field";
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (equal_ignoring_case(name, "transfer-encoding")) {
      ++encodings;
      if (!equal_ignoring_case(value, "chunked")) return "Transfer-Encoding must be chunked";
    } else if (equal_ignoring_case(name, "content-length")) {
      ++lengths;
      if (!is_length(value)) return "Content-Length must be a number";
    } else if (equal_ignoring_case(name, "host")) {
      ++hosts;
    }
  }
  if (encodings > 1 || lengths > 1) return "the length of the body is given twice";
  if (encodings > 0 && lengths > 0) return "Transfer-Encoding and Content-Length are both given";
  if (encodings > 0 && is_old) return "Transfer-Encoding in HTTP/1.0";
  if (hosts > 1 || (hosts == 0 && !is_old)) return "there must be one Host";
  return "";
}

}  // namespace berth::http::transport
