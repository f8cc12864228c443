#include "hcl/json_syntax.h"

#include <fmt/format.h>

#include "hcl/parser.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

class JsonParser {
 public:
  JsonParser(const Source& source, Diagnostics& out) : source_(source), text_(source.text()), out_(out) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  JsonNode file() {
    JsonNode root;
    if (!is_utf8(text_)) {
      fail({0, 0}, "Invalid character encoding",
           "All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in your editor.");
      return root;
    }
    if (!value(root, 0)) return root;
    blanks();
    if (at_ < text_.size()) {
      fail(character(), "Extraneous data after value", "Extra characters appear after the JSON value.");
    }
    return root;
  }

 private:
  struct Place {
    std::size_t begin, end;
  };

  [[nodiscard]] Range range(Place place) const {
    return {&source_, static_cast<std::uint32_t>(place.begin), static_cast<std::uint32_t>(place.end)};
  }
  [[nodiscard]] Place character() const { return {at_, at_ < text_.size() ? grapheme_end(text_, at_) : at_}; }
  bool fail(Place place, std::string_view summary, std::string detail) {
    out_.add(range(place), summary, std::move(detail));
    return false;
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void blanks() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
  }

  bool value(JsonNode& out, int depth) {
    blanks();
    if (depth > kMaxNesting) {
      return fail(character(), "Nesting too deep",
                  fmt::format("JSON may be nested {} levels deep. Make this part flatter.", kMaxNesting));
    }
    const std::size_t begin = at_;
    const char c = peek();
    bool right = false;
    if (c == '{') {
      right = object(out, depth);
    } else if (c == '[') {
      right = array(out, depth);
    } else if (c == '"') {
      out.kind = JsonNode::Kind::string;
      right = string(out.text);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      right = number(out);
    } else if (c >= 'a' && c <= 'z') {
      right = keyword(out);
    } else {
      right = fail(character(), "Missing JSON value",
                   "A JSON value must start with a brace, a bracket, a number, a string, or a keyword.");
    }
    out.range = range({begin, at_});
    return right;
  }

  bool object(JsonNode& out, int depth) {
    out.kind = JsonNode::Kind::object;
    const std::size_t open = at_++;
    blanks();
    if (peek() == '}') return ++at_, true;
    for (;;) {
      blanks();
      if (peek() != '"') {
        return fail(character(), "Invalid JSON object property",
                    "A JSON object property must begin with a quoted name.");
      }
      JsonProperty property;
      const std::size_t begin = at_;
      if (!string(property.name)) return false;
      property.name_range = range({begin, at_});
      blanks();
      if (peek() != ':') {
        return fail(character(), "Missing property value colon",
                    "A colon must appear between an object property's name and its value.");
      }
      ++at_;
      if (!value(property.value, depth + 1)) return false;
      out.members.push_back(std::move(property));
      blanks();
      const Place here = character();
      if (peek() == '}') return ++at_, true;
      if (at_ >= text_.size()) {
        return fail({open, open + 1}, "Unclosed object", "No closing brace was found for this JSON object.");
      }
      if (peek() != ',') {
        return fail(here, "Missing attribute separator",
                    "A property must be followed by a comma or by the closing brace of its object.");
      }
      ++at_;
      blanks();
      if (peek() == '}') {
        return fail(here, "Trailing comma in object",
                    "JSON does not permit a trailing comma after the final property in an object.");
      }
    }
  }

  bool array(JsonNode& out, int depth) {
    out.kind = JsonNode::Kind::array;
    const std::size_t open = at_++;
    blanks();
    if (peek() == ']') return ++at_, true;
    for (;;) {
      JsonNode item;
      if (!value(item, depth + 1)) return false;
      out.items.push_back(std::move(item));
      blanks();
      const Place here = character();
      if (peek() == ']') return ++at_, true;
      if (at_ >= text_.size()) {
        return fail({open, open + 1}, "Unclosed array", "No closing bracket was found for this JSON array.");
      }
      if (peek() != ',') {
        return fail(here, "Missing item separator",
                    "A value must be followed by a comma or by the closing bracket of its array.");
      }
      ++at_;
      blanks();
      if (peek() == ']') {
        return fail(here, "Trailing comma in array",
                    "JSON does not permit a trailing comma after the final value in an array.");
      }
    }
  }

  bool number(JsonNode& out) {
    out.kind = JsonNode::Kind::number;
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view("0123456789+-.eE").find(text_[at_]) != std::string_view::npos) ++at_;
    const auto parsed = Number::parse(text_.substr(begin, at_ - begin));
    if (!parsed) return fail({begin, at_}, "Invalid JSON number", "This is not a number as JSON writes it.");
    out.number = *parsed;
    return true;
  }

  bool keyword(JsonNode& out) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= 'a' && text_[at_] <= 'z') ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "true" || word == "false") {
      out.kind = JsonNode::Kind::boolean;
      out.truth = word == "true";
      return true;
    }
    if (word == "null") return true;
    return fail({begin, at_}, "Invalid JSON keyword", fmt::format("\"{}\" is not a valid JSON keyword.", word));
  }

  bool hex(std::uint32_t& code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      const bool decimal = c >= '0' && c <= '9';
      if (!decimal && (lower < 'a' || lower > 'f')) return false;
      code = code * 16 + static_cast<std::uint32_t>(decimal ? c - '0' : lower - 'a' + 10);
    }
    return true;
  }

  bool escape(std::string& out) {
    const std::size_t begin = at_++;
    const auto wrong = [&] {
      return fail({begin, at_}, "Invalid JSON string", "This is not an escape sequence of JSON.");
    };
    const char c = peek();
    if (at_ < text_.size()) ++at_;
    constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    if (const std::size_t found = kFrom.find(c); c != '\0' && found != std::string_view::npos) {
      out += kTo[found];
      return true;
    }
    if (c != 'u') return wrong();
    std::uint32_t code = 0;
    if (!hex(code)) return wrong();
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      std::uint32_t low = 0;
      if (!hex(low)) return wrong();
      code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00) : 0xFFFD;
    }
    if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
    append_utf8(out, code);
    return true;
  }

  bool string(std::string& out) {
    const std::size_t open = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        if (!escape(out)) return false;
      } else if (static_cast<unsigned char>(text_[at_]) < 0x20) {
        return fail(character(), "Invalid JSON string", "Control characters must be escaped in a string of JSON.");
      } else {
        out += text_[at_++];
      }
    }
    if (at_ >= text_.size()) {
      return fail({open, open + 1}, "Unclosed string", "No closing quote was found for this JSON string.");
    }
    ++at_;
    return true;
  }

  const Source& source_;
  std::string_view text_;
  Diagnostics& out_;
  std::size_t at_ = 0;
};

const Expr& text_expression(const std::string& text, Range where, Workspace& workspace, Diagnostics& out) {
  Position inside = where.source->position(where.begin);
  ++inside.column;  // after the quote
  workspace.sources.emplace_back(where.source->name(), text, inside);
  const Expr* parsed = parse_template(workspace.sources.back(), workspace.tree, out);
  if (parsed == nullptr) parsed = &workspace.tree.make<LiteralExpr>(where, Value::unknown());
  auto& whole = workspace.tree.make<ParenthesesExpr>(where, *parsed);
  whole.json = &text;
  return whole;
}

}  // namespace

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string_view::npos && text[first] == '{';
}

JsonNode parse_json_file(const Source& source, Diagnostics& out) { return JsonParser(source, out).file(); }

const Expr& json_expression(const JsonNode& node, Workspace& workspace, Diagnostics& out) {
  Tree& tree = workspace.tree;
  switch (node.kind) {
    case JsonNode::Kind::null:
      return tree.make<LiteralExpr>(node.range, Value::null());
    case JsonNode::Kind::boolean:
      return tree.make<LiteralExpr>(node.range, Value::of(node.truth));
    case JsonNode::Kind::number:
      return tree.make<LiteralExpr>(node.range, Value::of(node.number));
    case JsonNode::Kind::string:
      return text_expression(node.text, node.range, workspace, out);
    case JsonNode::Kind::array: {
      auto& tuple = tree.make<TupleExpr>(node.range);
      tuple.open = node.range;
      for (const JsonNode& item : node.items) tuple.items.push_back(&json_expression(item, workspace, out));
      return tuple;
    }
    case JsonNode::Kind::object:
      break;
  }
  auto& object = tree.make<ObjectExpr>(node.range);
  object.open = node.range;
  object.json = true;
  for (const JsonProperty& member : node.members) {
    ObjectExpr::Item item{};
    item.key = &text_expression(member.name, member.name_range, workspace, out);
    item.value = &json_expression(member.value, workspace, out);
    object.items.push_back(item);
  }
  return object;
}

}  // namespace berth::hcl
