#include "io/json_parse.h"

#include <new>

#include "io/json_fault.h"
#include "io/json_tree.h"

namespace berth::io {
namespace {

/// A parser keeps several bytes per byte of the largest text it has read. After a larger text than this its buffers are
/// freed, because the tree built from the text needs more memory than they do.
constexpr std::size_t kKeptTextBytes = 1 << 20;

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

/// `place` is the position of the text in its file, such as a line number. The faulty document begins at `begin`.
InputError not_json(std::string_view text, std::size_t begin, std::string_view path, std::string_view place,
                    simdjson::error_code code) {
  if (looks_like_hcl(text))
    return {std::string(path), std::string(place), "is HCL, not JSON",
            "`nomad job run -output FILE.hcl > FILE.json` makes JSON of it"};
  const auto fault = find_json_fault(text.substr(begin));
  if (!fault)  // simdjson's own message is all there is
    return {std::string(path), std::string(place), std::string("not JSON: ") + simdjson::error_message(code),
            remedy_for(code)};
  const TextPlace at = place_at(text, begin + fault->offset);
  std::string where(place);
  if (where.empty() || at.line > 1) where += (where.empty() ? "" : ":") + std::to_string(at.line);
  return {std::string(path), where + ":" + std::to_string(at.column), "not JSON: " + fault->problem, remedy_for(code)};
}

}  // namespace

json::Value to_value(const JsonElement& element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::ARRAY: {
      json::Array items;
      const simdjson::dom::array array = element.get_array().value_unsafe();
      items.reserve(array.size());
      for (const simdjson::dom::element item : array) items.push_back(to_value(item));
      return json::Value(std::move(items));
    }
    case element_type::OBJECT: {
      json::Object members;
      const simdjson::dom::object object = element.get_object().value_unsafe();
      members.reserve(object.size());
      for (const auto field : object) members.push_back({std::string(field.key), to_value(field.value)});
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

json::Value to_value_without(const simdjson::dom::object& object, std::string_view key) {
  json::Object members;
  members.reserve(object.size());
  for (const auto field : object)
    if (field.key != key) members.push_back({std::string(field.key), to_value(field.value)});
  return json::Value(std::move(members));
}

bool is_equal(const JsonElement& a, const JsonElement& b) {
  using simdjson::dom::element_type;
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case element_type::ARRAY: {
      const simdjson::dom::array one = a.get_array().value_unsafe(), other = b.get_array().value_unsafe();
      auto x = one.begin(), y = other.begin();
      for (; x != one.end() && y != other.end(); ++x, ++y)
        if (!is_equal(*x, *y)) return false;
      return !(x != one.end()) && !(y != other.end());
    }
    case element_type::OBJECT: {
      const simdjson::dom::object one = a.get_object().value_unsafe(), other = b.get_object().value_unsafe();
      auto x = one.begin(), y = other.begin();
      for (; x != one.end() && y != other.end(); ++x, ++y)
        if (x.key() != y.key() || !is_equal(x.value(), y.value())) return false;
      return !(x != one.end()) && !(y != other.end());
    }
    case element_type::INT64:
      return a.get_int64().value_unsafe() == b.get_int64().value_unsafe();
    case element_type::UINT64:
      return a.get_uint64().value_unsafe() == b.get_uint64().value_unsafe();
    case element_type::DOUBLE:
      return a.get_double().value_unsafe() == b.get_double().value_unsafe();
    case element_type::STRING:
      return a.get_string().value_unsafe() == b.get_string().value_unsafe();
    case element_type::BOOL:
      return a.get_bool().value_unsafe() == b.get_bool().value_unsafe();
    case element_type::NULL_VALUE:
      break;
  }
  return true;
}

Result<void> each_json_document(std::string_view text, std::string_view path,
                                const std::function<Result<void>(const JsonElement&, std::size_t)>& each) {
  simdjson::dom::parser parser;
  JsonElement element;
  simdjson::error_code code = parser.parse(text.data(), text.size(), true).get(element);
  if (code == simdjson::SUCCESS) return each(element, 0);  // nearly always the text is one document
  std::size_t begin = 0;
  do {
    const auto fault = find_json_fault(text.substr(begin));
    const std::size_t bytes = fault && fault->another_follows ? fault->offset : text.size() - begin;
    code = parser.parse(text.data() + begin, bytes, true).get(element);
    if (code == simdjson::MEMALLOC) throw std::bad_alloc();  // out of memory is no fault of the text
    if (code != simdjson::SUCCESS) return tl::unexpected(not_json(text, begin, path, "", code));
    if (auto done = each(element, begin); !done) return done;
    begin += bytes;
  } while (begin < text.size());
  return {};
}

Result<json::Value> parse_json(std::string_view text, std::string_view path, std::string_view place) {
  thread_local simdjson::dom::parser parser;
  JsonElement element;
  const simdjson::error_code code = parser.parse(text.data(), text.size(), true).get(element);
  if (code == simdjson::MEMALLOC) throw std::bad_alloc();  // out of memory is no fault of the text
  if (code != simdjson::SUCCESS) return tl::unexpected(not_json(text, 0, path, place, code));
  json::Value value = to_value(element);
  if (parser.capacity() > kKeptTextBytes) parser = simdjson::dom::parser();
  return value;
}

}  // namespace berth::io
