#include "sim/yaml_tree.h"

#include <set>

#include "base/text.h"
#include "base/yaml_events.h"

namespace berth::sim {
namespace {

constexpr int kMaxDepth = 60;

using Event = base::YamlEvent;

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : path_(path), events_(text) {}

  Result<YamlNode> document() {
    YamlNode out;
    Event stream, start;
    if (!next(stream) || !next(start)) return tl::unexpected(error_);
    if (start.event.type == YAML_STREAM_END_EVENT) return out;
    Event root, end, after;
    if (!next(root) || !read(out, root.event, 0) || !next(end) || !next(after)) return tl::unexpected(error_);
    if (after.event.type != YAML_STREAM_END_EVENT)
      fail(line_of(after.event), "a second document begins", "write one document per file");
    if (!error_.problem.empty()) return tl::unexpected(error_);
    return out;
  }

 private:
  static std::size_t line_of(const yaml_event_t& event) { return event.start_mark.line + 1; }

  bool fail(std::size_t line, std::string problem, std::string remedy) {
    error_ = {path_, std::to_string(line), std::move(problem), std::move(remedy)};
    return false;
  }

  bool next(Event& event) {
    if (events_.next(event)) return true;
    const char* problem = events_.problem() ? events_.problem() : "unreadable";
    return fail(events_.mark().line + 1, std::string("not YAML: ") + problem, "correct the line");
  }

  bool read(YamlNode& out, const yaml_event_t& event, int depth) {
    out.line = line_of(event);
    if (depth > kMaxDepth) return fail(out.line, "values are nested more than 60 levels deep", "nest them less");
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        return read_scalar(out, event);
      case YAML_SEQUENCE_START_EVENT:
        out.kind = YamlNode::Kind::list;
        return is_plain(event.data.sequence_start.anchor, event.data.sequence_start.tag, out.line) &&
               read_list(out, depth);
      case YAML_MAPPING_START_EVENT:
        out.kind = YamlNode::Kind::map;
        return is_plain(event.data.mapping_start.anchor, event.data.mapping_start.tag, out.line) &&
               read_map(out, depth);
      default:
        return fail(out.line, "an alias", "write the value again in its place");
    }
  }

  bool is_plain(const yaml_char_t* anchor, const yaml_char_t* tag, std::size_t line) {
    if (anchor) return fail(line, "an anchor", "write the value again where it is used");
    if (tag) return fail(line, "a tag", "remove it");
    return true;
  }

  bool read_scalar(YamlNode& out, const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    if (!is_plain(scalar.anchor, scalar.tag, out.line)) return false;
    out.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const bool is_null = scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                         (out.text.empty() || out.text == "~" || out.text == "null" || out.text == "Null");
    out.kind = is_null ? YamlNode::Kind::none : YamlNode::Kind::text;
    return true;
  }

  bool read_list(YamlNode& out, int depth) {
    for (;;) {
      Event event;
      if (!next(event)) return false;
      if (event.event.type == YAML_SEQUENCE_END_EVENT) return true;
      if (!read(out.items.emplace_back(), event.event, depth + 1)) return false;
    }
  }

  bool read_map(YamlNode& out, int depth) {
    std::set<std::string> keys;
    for (;;) {
      Event key_event;
      if (!next(key_event)) return false;
      if (key_event.event.type == YAML_MAPPING_END_EVENT) return true;
      const std::size_t line = line_of(key_event.event);
      if (key_event.event.type != YAML_SCALAR_EVENT) return fail(line, "a key that is no text", "write a text");
      YamlNode key;
      if (!read(key, key_event.event, depth + 1)) return false;
      if (!keys.insert(key.text).second)
        return fail(line, "'" + base::shown(key.text.substr(0, 60)) + "' is there twice", "keep one");
      Event value_event;
      if (!next(value_event)) return false;
      auto& member = out.members.emplace_back(YamlMember{key.text, {}});
      if (!read(member.value, value_event.event, depth + 1)) return false;
    }
  }

  const std::string& path_;
  base::YamlEvents events_;
  InputError error_;
};

}  // namespace

const YamlNode& YamlNode::operator[](std::string_view key) const {
  static const YamlNode kNone;
  for (const auto& [name, value] : members)
    if (name == key) return value;
  return kNone;
}

Result<YamlNode> parse_yaml(std::string_view text, const std::string& path) { return Parser(text, path).document(); }

}  // namespace berth::sim
