#include "io/json_parse.h"

#include <simdjson.h>

#include <new>

#include "io/json_fault.h"

namespace berth::io {
namespace {

/// A parser keeps several bytes per byte of the largest text it has read. After a larger text than this its buffers are
/// freed, because the tree built from the text needs more memory than they do.
constexpr std::size_t kKeptTextBytes = 1 << 20;

json::Value convert(const simdjson::dom::element& element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::ARRAY: {
      json::Array items;
      const simdjson::dom::array array = element.get_array().value_unsafe();
      items.reserve(array.size());
      for (const simdjson::dom::element item : array) items.push_back(convert(item));
      return json::Value(std::move(items));
    }
    case element_type::OBJECT: {
      json::Object members;
      const simdjson::dom::object object = element.get_object().value_unsafe();
      members.reserve(object.size());
      for (const auto field : object) members.push_back({std::string(field.key), convert(field.value)});
      return json::Value(std::move(members));
    }
    case element_type::INT64:
      return json::Value(std::int64_t{element.get_int64().value_unsafe()});
    case element_type::UINT64:
      return json::Value(std::uint64_t{element.get_uint64().value_unsafe()});
    case element_type::DOUBLE:
      return json::Value(double{element.get_double().value_unsafe()});
    case element_type::STRING:
      return json::Value(std::string_view(element.get_string().value_unsafe()));
    case element_type::BOOL:
      return json::Value(bool{element.get_bool().value_unsafe()});
    case element_type::NULL_VALUE:
      break;
  }
  return {};
}

std::string remedy_for(simdjson::error_code code) {
  switch (code) {
    case simdjson::EMPTY:
      return "write a JSON document into it";
    case simdjson::DEPTH_ERROR:
      return "nest at most 1,024 levels";
    case simdjson::UTF8_ERROR:
      return "save the file as UTF-8";
    case simdjson::CAPACITY:
      return "split the file; one document may have 4 GiB";
    case simdjson::UNCLOSED_STRING:
      return "close the string, or fetch the file again if it was cut";
    case simdjson::NUMBER_ERROR:
      return "write numbers of at most 64 bits, without NaN or Infinity";
    default:
      return "correct it, or fetch the file again if it was cut";
  }
}

/// `place` is the position of the text in its file, such as a line number.
InputError not_json(std::string_view text, std::string_view path, std::string_view place, simdjson::error_code code) {
  if (looks_like_hcl(text))
    return {std::string(path), std::string(place), "is HCL, not JSON",
            "`nomad job run -output FILE.hcl > FILE.json` makes JSON of it"};
  const auto fault = find_json_fault(text);
  if (!fault)  // simdjson's own message is all there is
    return {std::string(path), std::string(place), std::string("not JSON: ") + simdjson::error_message(code),
            remedy_for(code)};
  const TextPlace at = place_at(text, fault->offset);
  std::string where(place);
  if (where.empty() || at.line > 1) where += (where.empty() ? "" : ":") + std::to_string(at.line);
  return {std::string(path), where + ":" + std::to_string(at.column), "not JSON: " + fault->problem, remedy_for(code)};
}

}  // namespace

Result<json::Value> parse_json(std::string_view text, std::string_view path, std::string_view place) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element element;
  const simdjson::error_code code = parser.parse(text.data(), text.size(), true).get(element);
  if (code == simdjson::MEMALLOC) throw std::bad_alloc();  // out of memory is no fault of the text
  if (code != simdjson::SUCCESS) return tl::unexpected(not_json(text, path, place, code));
  json::Value value = convert(element);
  if (parser.capacity() > kKeptTextBytes) parser = simdjson::dom::parser();
  return value;
}

}  // namespace berth::io
