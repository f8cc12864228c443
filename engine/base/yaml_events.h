// The events of a YAML text, by libyaml, for HCL's yamldecode and for workloads in YAML. Users of this header link
// libyaml.
#pragma once

#include <yaml.h>

#include <string_view>

namespace berth::base {

/// An event that frees itself.
struct YamlEvent {
  YamlEvent() : event() {}
  ~YamlEvent() { yaml_event_delete(&event); }
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
  yaml_event_t event;
};

class YamlEvents {
 public:
  /// Refers to `text`, in UTF-8.
  explicit YamlEvents(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  ~YamlEvents() { yaml_parser_delete(&parser_); }
  YamlEvents(const YamlEvents&) = delete;
  YamlEvents& operator=(const YamlEvents&) = delete;

  /// Reads the next event; false if the text is no YAML there: see problem() and mark().
  [[nodiscard]] bool next(YamlEvent& event) { return yaml_parser_parse(&parser_, &event.event) == 1; }
  [[nodiscard]] const char* problem() const { return parser_.problem; }  ///< null: libyaml names none
  [[nodiscard]] const yaml_mark_t& mark() const { return parser_.problem_mark; }

 private:
  yaml_parser_t parser_{};
};

}  // namespace berth::base
