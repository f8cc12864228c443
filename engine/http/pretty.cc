#include "http/pretty.h"

namespace berth::http {

void Pretty::line(std::string& out) const {
  out += '\n';
  out.append(static_cast<std::size_t>(depth_) * 4, ' ');
}

void Pretty::append(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (in_text_) {
      out += c;
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = true;
      else if (c == '"')
        in_text_ = false;
      continue;
    }
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    const bool closes = c == ']' || c == '}';
    if (opened_ && !closes) line(out);  // after an opening bracket that is not closed at once
    if (closes) {
      --depth_;
      if (!opened_) line(out);
    }
    opened_ = c == '[' || c == '{';
    if (opened_) ++depth_;
    out += c;
    if (c == ',') line(out);
    if (c == ':') out += ' ';
    if (c == '"') in_text_ = true;
  }
}

}  // namespace berth::http
