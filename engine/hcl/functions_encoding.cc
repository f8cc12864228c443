// R-HCL-620, 621, 624 to 627: JSON, CSV, base64, URLs and hashes.
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/text.h"
#include "hcl/function_table.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

/// Reads JSON into values; errors have the words of Go's decoder (R-HCL-621).
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Outcome read() {
    skip_blanks();
    if (at_ == text_.size()) return tl::unexpected<std::string>("EOF");
    Value value;
    if (!read_value(value, 0)) return tl::unexpected(problem_);
    skip_blanks();
    if (at_ != text_.size()) return tl::unexpected<std::string>("extraneous data after JSON object");
    return value;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  /// Sets the error for a character that is not allowed at this place.
  bool unexpected(const std::string& where) {
    if (at_ >= text_.size()) {
      problem_ = "unexpected EOF";
      return false;
    }
    std::size_t end = at_;
    (void)next_code_point(text_, end);
    const std::string_view character = text_.substr(at_, end - at_);
    std::string shown = base::go_quote(character);
    shown = character == "'" ? "\\'" : character == "\"" ? "\"" : shown.substr(1, shown.size() - 2);
    problem_ = "invalid character '" + shown + "' " + where;
    return false;
  }

  bool read_value(Value& value, int depth) {
    if (depth > kMaxDepth) {
      problem_ = kTooDeep;
      return false;
    }
    skip_blanks();
    if (at_ >= text_.size()) return unexpected("");
    switch (text_[at_]) {
      case '{':
        return read_object(value, depth);
      case '[':
        return read_array(value, depth);
      case '"': {
        std::string text;
        if (!read_string(text)) return false;
        value = Value::of(text);
        return true;
      }
      case 't':
        value = Value::of(true);
        return literal("true");
      case 'f':
        value = Value::of(false);
        return literal("false");
      case 'n':
        value = Value::null();
        return literal("null");
      default:
        return read_number(value);
    }
  }

  bool literal(std::string_view word) {
    for (std::size_t i = 0; i < word.size(); ++i, ++at_) {
      if (at_ >= text_.size() || text_[at_] != word[i]) {
        return unexpected("in literal " + std::string(word) + " (expecting '" + word[i] + "')");
      }
    }
    return true;
  }

  bool digits() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > begin;
  }

  bool read_number(Value& value) {
    const std::size_t begin = at_;
    const bool minus = text_[at_] == '-';
    if (minus) ++at_;
    if (at_ < text_.size() && text_[at_] == '0') {
      ++at_;
    } else if (!digits()) {
      return unexpected(minus ? "in numeric literal" : "looking for beginning of value");
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (!digits()) return unexpected("after decimal point in numeric literal");
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits()) return unexpected("in exponent of numeric literal");
    }
    value = Value::of(*Number::parse(text_.substr(begin, at_ - begin)));
    return true;
  }

  /// Reads the four digits of a \u escape; false: there are fewer.
  bool hex4(unsigned& code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : ' ';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return unexpected("in \\u hexadecimal character escape");
      code = code * 16 + static_cast<unsigned>(digit);
    }
    return true;
  }

  bool read_string(std::string& out) {
    for (++at_;;) {
      if (at_ >= text_.size()) return unexpected("");
      const char c = text_[at_];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20) return unexpected("in string literal");
      if (c != '\\') {
        out += c;
        ++at_;
        continue;
      }
      ++at_;
      constexpr std::string_view kLetters = "\"\\/bfnrt";
      constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
      const auto place = at_ < text_.size() ? kLetters.find(text_[at_]) : std::string_view::npos;
      if (place != std::string_view::npos) {
        out += kMeaning[place];
        ++at_;
      } else if (at_ < text_.size() && text_[at_] == 'u') {
        ++at_;
        if (!read_unicode(out)) return false;
      } else {
        return unexpected("in string escape code");
      }
    }
    ++at_;
    return true;
  }

  bool read_unicode(std::string& out) {
    unsigned code = 0;
    if (!hex4(code)) return false;
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      const std::size_t second = at_;
      at_ += 2;
      unsigned low = 0;
      if (!hex4(low)) return false;
      if (low >= 0xDC00 && low < 0xE000) {
        append_utf8(out, 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00));
        return true;
      }
      at_ = second;
    }
    append_utf8(out, code);  // an unpaired surrogate becomes U+FFFD
    return true;
  }

  bool read_array(Value& value, int depth) {
    std::vector<Value> items;
    ++at_;
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == ']') {
      ++at_;
      value = Value::empty_tuple();
      return true;
    }
    for (;;) {
      Value item;
      if (!read_value(item, depth + 1)) return false;
      items.push_back(std::move(item));
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == ']') break;
      if (at_ >= text_.size() || text_[at_] != ',') return unexpected("after array element");
      ++at_;
    }
    ++at_;
    value = Value::tuple(std::move(items));
    return true;
  }

  bool read_object(Value& value, int depth) {
    std::vector<Value::Member> members;
    ++at_;
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '}') {
      ++at_;
      value = Value::object({});
      return true;
    }
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size() || text_[at_] != '"') return unexpected("looking for beginning of object key string");
      Value::Member member;
      if (!read_string(member.key)) return false;
      member.key = nfc(member.key);
      skip_blanks();
      if (at_ >= text_.size() || text_[at_] != ':') return unexpected("after object key");
      ++at_;
      if (!read_value(member.value, depth + 1)) return false;
      members.push_back(std::move(member));
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == '}') break;
      if (at_ >= text_.size() || text_[at_] != ',') return unexpected("after object key:value pair");
      ++at_;
    }
    ++at_;
    value = Value::object(std::move(members));
    return true;
  }

  std::string_view text_;
  std::string problem_;
  std::size_t at_ = 0;
};

/// Rows of a CSV text by the rules of Go's reader (RFC 4180, empty lines skipped).
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  /// False at the end, or with problem() set.
  bool next(std::vector<std::string>& fields) {
    fields.clear();
    while (at_ < text_.size() && end_of_line()) ++line_;
    if (at_ >= text_.size()) return false;
    row_line_ = line_;
    for (;;) {
      std::string field;
      if (text_[at_] == '"' ? !quoted(field) : !bare(field)) return false;
      fields.push_back(std::move(field));
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        if (at_ >= text_.size()) {
          fields.emplace_back();
          return true;
        }
        continue;
      }
      if (at_ < text_.size() && end_of_line()) ++line_;
      return true;
    }
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::size_t row_line() const { return row_line_; }

 private:
  /// Moves past LF or CR LF.
  bool end_of_line() {
    if (text_.substr(at_).starts_with("\r\n")) {
      at_ += 2;
      return true;
    }
    if (text_[at_] != '\n') return false;
    ++at_;
    return true;
  }
  bool at_end_of_field() const {
    return at_ >= text_.size() || text_[at_] == ',' || text_[at_] == '\n' || text_.substr(at_).starts_with("\r\n");
  }
  bool fail(const char* problem) {
    problem_ = "CSV parse error on line " + std::to_string(line_) + ": " + problem;
    return false;
  }
  bool bare(std::string& field) {
    for (; !at_end_of_field(); ++at_) {
      if (text_[at_] == '"') return fail("bare \" in non-quoted field");
      field += text_[at_];
    }
    return true;
  }
  bool quoted(std::string& field) {
    for (++at_;;) {
      if (at_ >= text_.size()) return fail("extraneous or missing \" in quoted-field");
      if (text_[at_] == '"') {
        ++at_;
        if (at_ < text_.size() && text_[at_] == '"') {
          field += '"';
          ++at_;
          continue;
        }
        return at_end_of_field() || fail("extraneous or missing \" in quoted-field");
      }
      if (text_[at_] == '\n') ++line_;
      if (!text_.substr(at_).starts_with("\r\n")) field += text_[at_];
      ++at_;
    }
  }

  std::string_view text_;
  std::string problem_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t row_line_ = 1;
};

CallOutcome csv_decode(Arguments arguments, const FileAccess&) {
  CsvReader reader(arguments[0].string());
  std::vector<std::string> header;
  if (!reader.next(header)) return fail(reader.problem().empty() ? "missing header line" : reader.problem());
  std::vector<Type::Attribute> attributes;
  for (const std::string& name : header) attributes.push_back({nfc(name), Kind::string});
  std::sort(attributes.begin(), attributes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < attributes.size(); ++i) {
    if (attributes[i].name == attributes[i - 1].name) {
      return fail("duplicate column name " + base::go_quote(attributes[i].name));
    }
  }
  std::vector<Value> rows;
  std::vector<std::string> fields;
  std::size_t weight = 0;
  while (reader.next(fields)) {
    if (fields.size() != header.size()) {
      return fail("CSV parse error on line " + std::to_string(reader.row_line()) + ": wrong number of fields");
    }
    std::vector<Value::Member> members;
    for (std::size_t i = 0; i < fields.size(); ++i) members.push_back({nfc(header[i]), Value::of(fields[i])});
    rows.push_back(Value::object(std::move(members)));
    weight += rows.back().weight();
    if (weight > kMaxWeight) return fail(kTooLarge);
  }
  if (!reader.problem().empty()) return fail(reader.problem());
  return Value::list(Type::object(std::move(attributes)), std::move(rows));
}

CallOutcome base64_decode(Arguments arguments, const FileAccess&) {
  std::string text = arguments[0].string();
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n'; });
  const auto bytes = base::from_base64(text);
  if (!bytes) return fail("failed to decode base64 data '" + arguments[0].string() + "'");
  if (!is_utf8(*bytes)) return fail("the result of decoding the the provided string is not valid UTF-8");
  return Value::of(*bytes);
}

constexpr std::string_view kHexDigits = "0123456789abcdef";

CallOutcome url_encode(Arguments arguments, const FileAccess&) {
  std::string result;
  for (const char c : arguments[0].string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    if (plain) {
      result += c;
    } else if (c == ' ') {
      result += '+';
    } else {
      constexpr std::string_view kUpperDigits = "0123456789ABCDEF";
      result += {'%', kUpperDigits[byte >> 4U], kUpperDigits[byte & 15U]};
    }
  }
  return Value::of(result);
}

CallOutcome hash(Arguments arguments, const EVP_MD* algorithm) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const std::string& text = arguments[0].string();
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, algorithm, nullptr) != 1) {
    return fail("this build of OpenSSL refuses the hash");
  }
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += {kHexDigits[digest[i] >> 4U], kHexDigits[digest[i] & 15U]};
  return Value::of(hex);
}

}  // namespace

void add_encoding_functions(Functions& table) {
  const Parameter text{"str", Kind::string};
  table.push_back({"jsonencode", {{"val", Type(), true}}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     auto json = json_text(a[0]);
                     if (!json) return fail(std::move(json.error()));
                     return Value::of(*json);
                   }});
  table.push_back({"jsondecode", {text}, {}, [](Arguments a, const FileAccess&) {
                     return or_fail(JsonReader(a[0].string()).read());
                   }});
  table.push_back({"csvdecode", {text}, {}, csv_decode});
  table.push_back({"base64encode", {text}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     return Value::of(base::to_base64(a[0].string()));
                   }});
  table.push_back({"base64decode", {text}, {}, base64_decode});
  table.push_back({"urlencode", {text}, {}, url_encode});
  table.push_back({"md5", {text}, {}, [](Arguments a, const FileAccess&) { return hash(a, EVP_md5()); }});
  table.push_back({"sha1", {text}, {}, [](Arguments a, const FileAccess&) { return hash(a, EVP_sha1()); }});
  table.push_back({"sha256", {text}, {}, [](Arguments a, const FileAccess&) { return hash(a, EVP_sha256()); }});
  table.push_back({"sha512", {text}, {}, [](Arguments a, const FileAccess&) { return hash(a, EVP_sha512()); }});
}

}  // namespace berth::hcl
