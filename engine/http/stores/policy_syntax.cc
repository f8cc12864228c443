#include "http/stores/policy_syntax.h"

#include "base/json.h"
#include "base/text.h"
#include "io/json_parse.h"

namespace berth::http {

namespace {

constexpr int kDeepest = 32;  // policies have four levels

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_word(char c) { return begins_word(c) || (c >= '0' && c <= '9') || c == '-' || c == '.'; }

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

/// Recursive descent over HCL 1. Each method advances past what it read, or fails.
class HclReader {
 public:
  explicit HclReader(std::string_view text) : text_(text) {}

  tl::expected<std::vector<PolicyItem>, std::string> read() {
    std::vector<PolicyItem> items;
    if (read_items(items, false, 0)) return items;
    return tl::unexpected(error_);
  }

 private:
  bool fail(const std::string& what) {
    if (!error_.empty()) return false;
    std::size_t line = 1, column = 1;
    for (const char c : text_.substr(0, at_)) c == '\n' ? (++line, column = 1) : ++column;
    error_ = "At " + std::to_string(line) + ":" + std::to_string(column) + ": " + what;
    return false;
  }

  /// Skips spaces and comments; false: an unterminated comment.
  bool skip() {
    while (at_ < text_.size()) {
      if (is_space(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '#' || text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return fail("comment not terminated");
        at_ = end + 2;
      } else {
        break;
      }
    }
    return true;
  }
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (here() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  bool read_items(std::vector<PolicyItem>& out, bool in_object, int depth) {
    if (depth > kDeepest) return fail("blocks are nested too deeply");
    for (;;) {
      if (!skip()) return false;
      if (in_object && take('}')) return true;
      if (at_ >= text_.size()) return in_object ? fail("object expected closing RBRACE got: EOF") : true;
      if (!read_item(out.emplace_back(), depth)) return false;
      if (!skip()) return false;
      take(',');
    }
  }

  bool read_item(PolicyItem& out, int depth) {
    for (;;) {
      if (!skip()) return false;
      if (here() == '"') {
        if (!read_text(out.keys.emplace_back())) return false;
      } else if (begins_word(here())) {
        read_word(out.keys.emplace_back());
      } else {
        break;
      }
    }
    if (out.keys.empty()) return fail("expected: IDENT | STRING got: " + shown_here());
    if (take('{')) {
      out.value.kind = PolicyValue::Kind::object;
      return read_items(out.value.items, true, depth + 1);
    }
    if (out.keys.size() > 1 || !take('='))
      return fail("expected: IDENT | STRING | ASSIGN | LBRACE got: " + shown_here());
    return read_value(out.value, depth + 1);
  }

  bool read_value(PolicyValue& out, int depth) {
    if (depth > kDeepest) return fail("values are nested too deeply");
    if (!skip()) return false;
    if (here() == '"') {
      out.kind = PolicyValue::Kind::text;
      return read_text(out.text);
    }
    if (text_.substr(at_, 2) == "<<") {
      out.kind = PolicyValue::Kind::text;
      return read_heredoc(out.text);
    }
    if (take('{')) {
      out.kind = PolicyValue::Kind::object;
      return read_items(out.items, true, depth);
    }
    if (take('[')) return read_list(out, depth);
    if (const char c = here(); (c >= '0' && c <= '9') || c == '-') {
      while (at_ < text_.size() && (continues_word(text_[at_]) || text_[at_] == '+')) ++at_;
      return true;
    }
    std::string word;
    if (begins_word(here())) read_word(word);
    return word == "true" || word == "false" || fail("Unknown token: " + (word.empty() ? shown_here() : word));
  }

  bool read_list(PolicyValue& out, int depth) {
    out.kind = PolicyValue::Kind::list;
    for (bool first = true;; first = false) {
      if (!skip()) return false;
      if (take(']')) return true;
      if (!first && !take(',')) return fail("error parsing list, expected comma or list end, got: " + shown_here());
      if (!skip()) return false;
      if (!first && take(']')) return true;  // after a trailing comma
      if (!read_value(out.list.emplace_back(), depth + 1)) return false;
    }
  }

  void read_word(std::string& out) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && continues_word(text_[at_])) ++at_;
    out = text_.substr(begin, at_ - begin);
  }

  bool read_text(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (c == '\n') return fail("literal not terminated");
      if (c != '\\')
        out += c;
      else if (!read_escape(out))
        return false;
    }
    return fail("literal not terminated");
  }

  bool read_escape(std::string& out) {
    const char c = here();
    ++at_;
    switch (c) {
      case 'n':
        out += '\n';
        return true;
      case 't':
        out += '\t';
        return true;
      case 'r':
        out += '\r';
        return true;
      case '"':
      case '\\':
        out += c;
        return true;
      case 'u': {
        std::uint32_t code = 0;
        for (int digit = 0; digit < 4; ++digit, ++at_) {
          const char d = here();
          const int value = d >= '0' && d <= '9'   ? d - '0'
                            : d >= 'a' && d <= 'f' ? d - 'a' + 10
                            : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                                   : -1;
          if (value < 0) return fail("illegal char escape");
          code = code << 4 | static_cast<std::uint32_t>(value);
        }
        append_utf8(out, code);
        return true;
      }
      default:
        return fail("illegal char escape");
    }
  }

  /// `<<EOF` up to a line with only that word, which may be indented with `<<-EOF`. The text keeps its last newline.
  bool read_heredoc(std::string& out) {
    at_ += 2;
    const bool indented = take('-');
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) return fail("heredoc not terminated");
    const std::string_view word = base::trim_space(text_.substr(at_, end - at_));
    if (word.empty()) return fail("heredoc without a name");
    for (at_ = end + 1; at_ < text_.size();) {
      const std::size_t next = std::min(text_.find('\n', at_), text_.size());
      const std::string_view line = text_.substr(at_, next - at_);
      at_ = std::min(next + 1, text_.size());
      std::string_view last = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
      if (indented) last = base::trim_space(last);
      if (last == word) return true;
      out.append(line).append("\n");
    }
    return fail("heredoc not terminated");
  }

  [[nodiscard]] std::string shown_here() const {
    return at_ < text_.size() ? std::string(base::shown(text_.substr(at_, 1))) : "EOF";
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

PolicyValue value_of(const json::Value& value) {
  PolicyValue out;
  if (value.is_string()) {
    out.kind = PolicyValue::Kind::text, out.text = value.as_string();
  } else if (value.is_array()) {
    out.kind = PolicyValue::Kind::list;
    for (const json::Value& item : value.items()) out.list.push_back(value_of(item));
  } else if (value.is_object()) {
    out.kind = PolicyValue::Kind::object;
    for (const json::Member& member : value.members()) out.items.push_back({{member.key}, value_of(member.value)});
  }
  return out;
}

}  // namespace

const PolicyValue* PolicyValue::find(std::string_view key) const {
  for (const PolicyItem& item : items)
    if (item.keys.size() == 1 && item.keys[0] == key) return &item.value;
  return nullptr;
}

tl::expected<PolicyTree, std::string> parse_policy_text(std::string_view text) {
  PolicyTree out;
  if (const std::string_view bare = base::trim_space(text); bare.starts_with('{') || bare.starts_with('[')) {
    const auto value = io::parse_json(bare, "policy");
    if (!value) return tl::unexpected(value.error().problem);
    out.is_json = true;
    const PolicyValue whole = value_of(*value);
    if (whole.kind == PolicyValue::Kind::object) out.items = whole.items;
    for (const PolicyValue& part : whole.list) out.items.insert(out.items.end(), part.items.begin(), part.items.end());
    return out;
  }
  auto items = HclReader(text).read();
  if (!items) return tl::unexpected(items.error());
  out.items = std::move(*items);
  return out;
}

}  // namespace berth::http
