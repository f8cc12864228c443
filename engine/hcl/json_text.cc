// Values as JSON text (R-HCL-620).
#include <array>
#include <cstdio>

#include "hcl/unicode.h"
#include "hcl/value.h"

namespace berth::hcl {
namespace {

/// Escapes like Go's encoder: also <, > and &, and the two line ends of JavaScript.
void append_string(std::string& out, std::string_view text) {
  out += '"';
  const auto escape = [&](unsigned code) {
    std::array<char, 8> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "\\u%04x", code);
    out += buffer.data();
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_code_point(text, at);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '<':
      case '>':
      case '&':
      case 0x2028:
      case 0x2029:
        escape(static_cast<unsigned>(c));
        break;
      default:
        if (c < 0x20) {
          escape(static_cast<unsigned>(c));
        } else {
          out.append(text.substr(begin, at - begin));
        }
    }
  }
  out += '"';
}

/// False: the value contains something that JSON cannot express; `out` is then the reason.
bool append_json(std::string& out, const Value& value) {
  if (value.is_null()) {
    out += "null";
    return true;
  }
  if (!value.is_known()) {
    out = "value is not known";
    return false;
  }
  switch (value.kind()) {
    case Kind::dynamic:
      break;
    case Kind::boolean:
      out += value.boolean() ? "true" : "false";
      break;
    case Kind::number:
      if (value.number().is_infinite()) {
        out = "cannot serialize infinity as JSON";
        return false;
      }
      out += value.number().text();
      break;
    case Kind::string:
      append_string(out, value.string());
      break;
    case Kind::list:
    case Kind::set:
    case Kind::tuple: {
      char separator = '[';
      for (const Value& item : value.items()) {
        out += separator;
        separator = ',';
        if (!append_json(out, item)) return false;
      }
      out += separator == '[' ? "[]" : "]";
      break;
    }
    case Kind::map:
    case Kind::object: {
      char separator = '{';
      for (const auto& member : value.members()) {
        out += separator;
        separator = ',';
        append_string(out, member.key);
        out += ':';
        if (!append_json(out, member.value)) return false;
      }
      out += separator == '{' ? "{}" : "}";
      break;
    }
  }
  return true;
}

}  // namespace

tl::expected<std::string, std::string> json_text(const Value& value) {
  std::string text;
  if (!append_json(text, value)) return tl::unexpected(std::move(text));
  return text;
}

}  // namespace berth::hcl
