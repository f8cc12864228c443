// R-HCL-622, 623: reading and writing YAML through libyaml's events.
#include <re2/re2.h>

#include <map>
#include <set>

#include "base/text.h"
#include "base/yaml_events.h"
#include "hcl/function_table.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

using base::YamlEvent;

std::string text_of(const yaml_char_t* text) { return text != nullptr ? reinterpret_cast<const char*>(text) : ""; }

/// Converts a date or a time of YAML 1.1 to RFC 3339; nullopt: the text is neither.
std::optional<std::string> timestamp(const std::string& text) {
  static const re2::RE2 kPattern(
      R"((\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d*))?[ \t]*(Z|[-+]\d{1,2}(?::?\d{2})?)?)?)");
  std::string year, month, day, hour, minute, second, fraction, zone;
  if (!re2::RE2::FullMatch(text, kPattern, &year, &month, &day, &hour, &minute, &second, &fraction, &zone)) {
    return std::nullopt;
  }
  const auto two = [](std::string digits) {
    return digits.size() < 2 ? std::string(2 - digits.size(), '0') + digits : digits;
  };
  fraction.resize(fraction.find_last_not_of('0') + 1);
  if (zone.empty()) zone = "Z";
  if (zone != "Z") {
    std::string digits = zone.substr(1);
    std::erase(digits, ':');
    const std::string hours = two(digits.size() > 2 ? digits.substr(0, digits.size() - 2) : digits);
    const std::string minutes = digits.size() > 2 ? digits.substr(digits.size() - 2) : "00";
    zone = hours == "00" && minutes == "00" ? "Z" : zone.substr(0, 1) + hours + ":" + minutes;
  }
  return year + "-" + two(month) + "-" + two(day) + "T" + two(hour) + ":" + two(minute) + ":" + two(second) +
         (fraction.empty() ? "" : "." + fraction) + zone;
}

/// The value of a plain scalar; nullopt: a string.
std::optional<Value> resolved(const std::string& text) {
  static const std::map<std::string, Value, std::less<>> kWords = [] {
    std::map<std::string, Value, std::less<>> words;
    for (const char* word : {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
      words[word] = Value::of(true);
    }
    for (const char* word : {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
      words[word] = Value::of(false);
    }
    for (const char* word : {"", "~", "null", "Null", "NULL"}) words[word] = Value::null();
    for (const char* word : {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"}) {
      words[word] = Value::of(Number::infinity(false));
    }
    for (const char* word : {"-.inf", "-.Inf", "-.INF"}) words[word] = Value::of(Number::infinity(true));
    return words;
  }();
  static const re2::RE2 kHexadecimal("0x([0-9a-fA-F]+)");
  static const re2::RE2 kOctal("0o([0-7]+)");
  static const re2::RE2 kDecimal(R"([-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)");
  if (const auto word = kWords.find(text); word != kWords.end()) return word->second;
  std::string digits;
  std::optional<Number> number;
  if (re2::RE2::FullMatch(text, kHexadecimal, &digits)) {
    number = Number::parse_integer(digits, 16);
  } else if (re2::RE2::FullMatch(text, kOctal, &digits)) {
    number = Number::parse_integer(digits, 8);
  } else if (re2::RE2::FullMatch(text, kDecimal)) {
    number = Number::parse(text);
  }
  if (number) return Value::of(*std::move(number));
  if (auto time = timestamp(text)) return Value::of(*time);
  return std::nullopt;
}

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) : events_(text) {}

  Outcome read() {
    Value value;
    if (!read_document(value)) return tl::unexpected(problem_);
    return value;
  }

 private:
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool fail_at(const yaml_mark_t& mark, const std::string& problem) {
    return fail("on line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1) + ": " +
                problem);
  }

  bool next(YamlEvent& event) {
    if (events_.next(event)) return true;
    return fail_at(events_.mark(), text_of(reinterpret_cast<const yaml_char_t*>(events_.problem())));
  }

  bool read_document(Value& value) {
    {
      YamlEvent stream;
      YamlEvent document;
      if (!next(stream) || !next(document)) return false;
      if (document.event.type != YAML_DOCUMENT_START_EVENT) {
        return fail_at(document.event.start_mark, "missing start of document");
      }
    }
    YamlEvent root;
    if (!next(root) || !read_node(value, root.event, 0)) return false;
    YamlEvent end;
    YamlEvent after;
    if (!next(end) || !next(after)) return false;
    if (after.event.type != YAML_STREAM_END_EVENT) {
      return fail_at(after.event.start_mark, "unexpected extra content after value");
    }
    return true;
  }

  bool read_node(Value& value, const yaml_event_t& event, int depth) {
    if (depth > kMaxDepth) return fail(kTooDeep);
    std::string anchor;
    switch (event.type) {
      case YAML_ALIAS_EVENT: {
        const std::string name = text_of(event.data.alias.anchor);
        if (open_anchors_.contains(name)) {
          return fail_at(event.start_mark,
                         "cannot refer to anchor " + base::go_quote(name) + " from inside its own definition");
        }
        const auto found = anchors_.find(name);
        if (found == anchors_.end()) return fail("reference to undefined anchor " + base::go_quote(name));
        value = found->second;
        return true;
      }
      case YAML_SCALAR_EVENT:
        anchor = text_of(event.data.scalar.anchor);
        if (!read_scalar(value, event)) return false;
        break;
      case YAML_SEQUENCE_START_EVENT:
        anchor = text_of(event.data.sequence_start.anchor);
        if (!anchor.empty()) open_anchors_.insert(anchor);
        if (!read_sequence(value, depth)) return false;
        break;
      case YAML_MAPPING_START_EVENT:
        anchor = text_of(event.data.mapping_start.anchor);
        if (!anchor.empty()) open_anchors_.insert(anchor);
        if (!read_mapping(value, depth)) return false;
        break;
      default:
        return fail_at(event.start_mark, "unexpected content");
    }
    if (value.too_large()) return fail(kTooLarge);
    if (!anchor.empty()) {
      open_anchors_.erase(anchor);
      anchors_[anchor] = value;
    }
    return true;
  }

  bool read_scalar(Value& value, const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    const std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const std::string tag = text_of(scalar.tag);
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tag.empty() || tag == "!") {
      auto meaning = plain && tag.empty() ? resolved(text) : std::nullopt;
      if (plain && tag.empty() && (text == ".nan" || text == ".NaN" || text == ".NAN")) {
        return fail_at(event.start_mark, "floating point NaN is not supported");
      }
      value = meaning ? *meaning : Value::of(text);
      return true;
    }
    const std::string prefix = YAML_STR_TAG;  // "tag:yaml.org,2002:str"
    const std::string standard = prefix.substr(0, prefix.size() - 3);
    const std::string kind = tag.starts_with(standard) ? tag.substr(standard.size()) : "";
    if (kind == "str" || kind == "binary") {
      value = Value::of(text);
      return true;
    }
    const auto meaning = resolved(text);
    const bool fits =
        meaning && ((kind == "null" && meaning->is_null()) ||
                    (kind == "bool" && meaning->is_value() && meaning->kind() == Kind::boolean) ||
                    ((kind == "int" || kind == "float") && meaning->is_value() && meaning->kind() == Kind::number) ||
                    (kind == "timestamp" && meaning->is_value() && meaning->kind() == Kind::string));
    if (!fits) {
      if (kind == "null" || kind == "bool" || kind == "int" || kind == "float" || kind == "timestamp") {
        return fail_at(event.start_mark, "cannot parse " + base::go_quote(text) + " as tag:yaml.org,2002:" + kind);
      }
      return fail_at(event.start_mark, "unsupported tag " + base::go_quote(tag));
    }
    value = *meaning;
    return true;
  }

  bool read_sequence(Value& value, int depth) {
    std::vector<Value> items;
    for (;;) {
      YamlEvent event;
      if (!next(event)) return false;
      if (event.event.type == YAML_SEQUENCE_END_EVENT) break;
      Value item;
      if (!read_node(item, event.event, depth + 1)) return false;
      items.push_back(std::move(item));
    }
    value = Value::tuple(std::move(items));
    return true;
  }

  bool read_mapping(Value& value, int depth) {
    std::vector<Value::Member> merged;  // of "<<": the mapping's own keys win
    std::vector<Value::Member> members;
    for (;;) {
      YamlEvent key_event;
      if (!next(key_event)) return false;
      if (key_event.event.type == YAML_MAPPING_END_EVENT) break;
      const auto& scalar = key_event.event.data.scalar;
      const bool merge = key_event.event.type == YAML_SCALAR_EVENT && scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                         scalar.tag == nullptr && text_of(scalar.value) == "<<";
      Value key;
      if (!merge && !read_node(key, key_event.event, depth + 1)) return false;
      const auto name = merge ? Outcome(Value::of("")) : to_string(key);
      if (!name || !name->is_value())
        return fail_at(key_event.event.start_mark, "only strings are allowed as mapping keys");
      YamlEvent value_event;
      Value member;
      if (!next(value_event) || !read_node(member, value_event.event, depth + 1)) return false;
      if (!merge) {
        members.push_back({name->string(), std::move(member)});
      } else if (!add_merged(merged, member)) {
        return fail_at(value_event.event.start_mark, "map merge requires map or sequence of maps as the value");
      }
    }
    merged.insert(merged.end(), members.begin(), members.end());
    value = Value::object(std::move(merged));
    return true;
  }

  /// Of several merged mappings the first wins, so its members must come last.
  static bool add_merged(std::vector<Value::Member>& merged, const Value& value) {
    if (value.is_value() && value.has_members()) {
      merged.insert(merged.begin(), value.members().begin(), value.members().end());
      return true;
    }
    if (!value.is_value() || !value.has_items()) return false;
    for (const Value& item : value.items()) {
      if (!item.is_value() || !item.has_members()) return false;
      merged.insert(merged.begin(), item.members().begin(), item.members().end());
    }
    return true;
  }

  base::YamlEvents events_;
  std::string problem_;
  std::map<std::string, Value> anchors_;
  std::set<std::string> open_anchors_;  // of nodes that are still being read
};

class YamlWriter {
 public:
  YamlWriter() {
    yaml_emitter_initialize(&emitter_);
    yaml_emitter_set_output(&emitter_, append, &out_);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_width(&emitter_, -1);
  }
  ~YamlWriter() { yaml_emitter_delete(&emitter_); }
  YamlWriter(const YamlWriter&) = delete;
  YamlWriter& operator=(const YamlWriter&) = delete;

  CallOutcome write(const Value& value) {
    yaml_event_t event{};
    // A single plain scalar needs an explicit end of the document.
    const bool plain = value.is_null() || (value.kind() == Kind::number || value.kind() == Kind::boolean);
    const bool written = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) == 1 && emit(event) &&
                         yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1) == 1 &&
                         emit(event) && node(value) && yaml_document_end_event_initialize(&event, plain ? 0 : 1) == 1 &&
                         emit(event) && yaml_stream_end_event_initialize(&event) == 1 && emit(event);
    if (!written) return fail(out_.size() > kMaxWeight ? kTooLarge : "the value cannot be written as YAML");
    return Value::of(out_);
  }

 private:
  static int append(void* out, unsigned char* text, std::size_t size) {
    auto& all = *static_cast<std::string*>(out);
    all.append(reinterpret_cast<const char*>(text), size);
    return all.size() <= kMaxWeight ? 1 : 0;
  }
  bool emit(yaml_event_t& event) { return yaml_emitter_emit(&emitter_, &event) == 1; }

  bool scalar(const std::string& text, yaml_scalar_style_t style) {
    yaml_event_t event{};
    return yaml_scalar_event_initialize(&event, nullptr, nullptr, reinterpret_cast<const yaml_char_t*>(text.data()),
                                        static_cast<int>(text.size()), 1, 1, style) == 1 &&
           emit(event);
  }
  bool string(const std::string& text) {
    return scalar(text,
                  text.find('\n') != std::string::npos ? YAML_LITERAL_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  }

  bool node(const Value& value) {
    if (value.is_null()) return scalar("null", YAML_PLAIN_SCALAR_STYLE);
    switch (value.kind()) {
      case Kind::boolean:
        return scalar(value.boolean() ? "true" : "false", YAML_PLAIN_SCALAR_STYLE);
      case Kind::number:
        if (value.number().is_infinite()) {
          return scalar(value.number().is_negative() ? "-.inf" : ".inf", YAML_PLAIN_SCALAR_STYLE);
        }
        return scalar(value.number().text(), YAML_PLAIN_SCALAR_STYLE);
      case Kind::string:
        return string(value.string());
      case Kind::map:
      case Kind::object: {
        yaml_event_t event{};
        const auto style = value.size() == 0 ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE;
        if (yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, style) != 1 || !emit(event)) return false;
        for (const auto& member : value.members()) {
          if (!string(member.key) || !node(member.value)) return false;
        }
        return yaml_mapping_end_event_initialize(&event) == 1 && emit(event);
      }
      default: {
        yaml_event_t event{};
        const auto style = value.size() == 0 ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE;
        if (yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, style) != 1 || !emit(event)) return false;
        for (const Value& item : value.items()) {
          if (!node(item)) return false;
        }
        return yaml_sequence_end_event_initialize(&event) == 1 && emit(event);
      }
    }
  }

  yaml_emitter_t emitter_{};
  std::string out_;
};

}  // namespace

void add_yaml_functions(Functions& table) {
  table.push_back({"yamlencode", {{"value", Type(), true}}, {}, [](Arguments a, const FileAccess&) {
                     return YamlWriter().write(a[0]);
                   }});
  table.push_back({"yamldecode", {{"src", Kind::string}}, {}, [](Arguments a, const FileAccess&) {
                     return or_fail(YamlReader(a[0].string()).read());
                   }});
}

}  // namespace berth::hcl
