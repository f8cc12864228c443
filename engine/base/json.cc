#include "base/json.h"
#include "base/json_members.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace berth::json {
namespace {

const Value kNull;
const std::string kEmptyString;
const Array kNoItems;
const Object kNoMembers;

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

Value::Value(std::uint64_t v) {
  if (v <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    data_ = static_cast<std::int64_t>(v);
  else
    data_ = v;
}
Value::Value(Array v) : data_(std::move(v)) {}
Value::Value(Object v) : data_(std::move(v)) {}
Value Value::array() { return Value(Array{}); }
Value Value::object() { return Value(Object{}); }

const char* Value::kind() const {
  switch (data_.index()) {
    case 0:
      return "null";
    case 1:
      return "a boolean";
    case 2:
    case 3:
      return "an integer";
    case 4:
      return "a number";
    case 5:
      return "a string";
    case 6:
      return "a list";
    default:
      return "an object";
  }
}

bool Value::as_bool(bool fallback) const { return is_bool() ? std::get<bool>(data_) : fallback; }
std::int64_t Value::as_int(std::int64_t fallback) const {
  if (is_int64()) return std::get<std::int64_t>(data_);
  if (is_uint64()) return static_cast<std::int64_t>(std::get<std::uint64_t>(data_));
  return fallback;
}
std::uint64_t Value::as_uint(std::uint64_t fallback) const {
  if (is_uint64()) return std::get<std::uint64_t>(data_);
  if (is_int64()) return static_cast<std::uint64_t>(std::get<std::int64_t>(data_));
  return fallback;
}
double Value::as_double(double fallback) const {
  if (is_double()) return std::get<double>(data_);
  if (is_int64()) return static_cast<double>(std::get<std::int64_t>(data_));
  if (is_uint64()) return static_cast<double>(std::get<std::uint64_t>(data_));
  return fallback;
}
const std::string& Value::as_string() const { return is_string() ? std::get<std::string>(data_) : kEmptyString; }
const Array& Value::items() const& { return is_array() ? std::get<Array>(data_) : kNoItems; }
const Object& Value::members() const& { return is_object() ? std::get<Object>(data_) : kNoMembers; }
Array& Value::items() & {
  if (!is_array()) data_ = Array{};
  return std::get<Array>(data_);
}
Object& Value::members() & {
  if (!is_object()) data_ = Object{};
  return std::get<Object>(data_);
}

const Value* Value::find(std::string_view key) const {
  const Object& all = members();
  for (auto it = all.rbegin(); it != all.rend(); ++it)  // most keys differ in length or first letter: no call for those
    if (it->key.size() == key.size() && (key.empty() || it->key.front() == key.front()) && it->key == key)
      return &it->value;
  return nullptr;
}
Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
const Value* Value::find_ignoring_case(std::string_view key) const {
  if (const Value* exact = find(key)) return exact;
  const Object& all = members();
  for (auto it = all.rbegin(); it != all.rend(); ++it)
    if (equal_ignoring_case(it->key, key)) return &it->value;
  return nullptr;
}
const Value& Value::operator[](std::string_view key) const {
  const Value* found = find(key);
  return found ? *found : kNull;
}
const Value& Value::operator[](std::size_t index) const {
  const Array& all = items();
  return index < all.size() ? all[index] : kNull;
}
Value& Value::set(std::string_view key, Value value) {
  if (Value* found = find(key)) return *found = std::move(value);
  members().push_back({std::string(key), std::move(value)});
  return members().back().value;
}
bool Value::erase(std::string_view key) {
  if (!is_object()) return false;
  return std::erase_if(members(), [&](const Member& m) { return m.key == key; }) > 0;
}
void Value::push(Value value) { items().push_back(std::move(value)); }
std::size_t Value::size() const {
  if (is_array()) return std::get<Array>(data_).size();
  if (is_object()) return std::get<Object>(data_).size();
  return 0;
}

bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

namespace {

constexpr std::size_t kFewMembers = 16;  ///< up to this many members are compared one by one; more are sorted first

/// Members by key; among equal keys the one that is last in the object comes last.
std::vector<const Member*> sorted_members(const Value& object) {
  std::vector<const Member*> out;
  out.reserve(object.size());
  for (const Member& member : object.members()) out.push_back(&member);
  std::stable_sort(out.begin(), out.end(), [](const Member* a, const Member* b) { return a->key < b->key; });
  return out;
}

}  // namespace

MemberIndex::MemberIndex(const Value& object) : object_(object) {
  if (object.size() > kFewMembers) sorted_ = sorted_members(object);
}

const Value* MemberIndex::find(std::string_view key) const {
  if (sorted_.empty()) return object_.find(key);
  const auto after = std::upper_bound(sorted_.begin(), sorted_.end(), key,
                                      [](std::string_view wanted, const Member* m) { return wanted < m->key; });
  return after != sorted_.begin() && (*std::prev(after))->key == key ? &(*std::prev(after))->value : nullptr;
}

void merge_members(const Object& over, Value& into) {
  if (over.empty()) return;
  if (over.size() <= kFewMembers && into.size() <= kFewMembers) {
    for (const Member& member : over) into.set(member.key, member.value);
    return;
  }
  MemberWriter writer(into);
  for (const Member& member : over) writer.set(member.key, member.value);
}

bool equal_ignoring_member_order(const Value& a, const Value& b) {
  if (a.is_object() && b.is_object()) {
    if (a.size() != b.size()) return false;
    const MemberIndex others(b);
    return std::all_of(a.members().begin(), a.members().end(), [&](const Member& m) {
      const Value* other = others.find(m.key);
      return other && equal_ignoring_member_order(m.value, *other);
    });
  }
  if (a.is_array() && b.is_array())
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                      equal_ignoring_member_order);
  if (a.is_number() && b.is_number() && a.is_double() != b.is_double()) return a.as_double() == b.as_double();
  return a == b;
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  std::size_t copied = 0;  // what needs no escape is appended run by run
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20) continue;
    out.append(text, copied, i - copied);
    copied = i + 1;
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
      default:
        out += "\\u00";
        out += kHex[static_cast<unsigned char>(c) >> 4];
        out += kHex[c & 15];
    }
  }
  out.append(text, copied);
  out += '"';
}

std::string double_text(double value) {
  if (!std::isfinite(value)) return "null";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void append_canonical(std::string& out, const Value& value) {
  if (value.is_object()) {
    out += '{';
    for (const Member* member : sorted_members(value)) {
      append_quoted(out, member->key);
      out += ':';
      append_canonical(out, member->value);
      out += ',';
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const Value& item : value.items()) {
      append_canonical(out, item);
      out += ',';
    }
    out += ']';
  } else if (value.is_number()) {
    out += double_text(value.as_double());
    if (value.is_int() && static_cast<std::int64_t>(value.as_double()) != value.as_int())
      out += '/' + std::to_string(value.as_int());  // more digits than a double has
  } else {
    append_text(out, value, 0, 0);
  }
}

void append_text(std::string& out, const Value& value, int indent, int depth) {
  auto new_line = [&](int level) {
    if (indent == 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  };
  if (value.is_null()) {
    out += "null";
  } else if (value.is_bool()) {
    out += value.as_bool() ? "true" : "false";
  } else if (value.is_uint64()) {
    out += std::to_string(value.as_uint());
  } else if (value.is_int()) {
    out += std::to_string(value.as_int());
  } else if (value.is_double()) {
    out += double_text(value.as_double());
  } else if (value.is_string()) {
    append_quoted(out, value.as_string());
  } else if (value.is_array()) {
    out += '[';
    bool first = true;
    for (const Value& item : value.items()) {
      if (!first) out += ',';
      first = false;
      new_line(depth + 1);
      append_text(out, item, indent, depth + 1);
    }
    if (!first) new_line(depth);
    out += ']';
  } else {
    out += '{';
    bool first = true;
    for (const Member& member : value.members()) {
      if (!first) out += ',';
      first = false;
      new_line(depth + 1);
      append_quoted(out, member.key);
      out += indent ? ": " : ":";
      append_text(out, member.value, indent, depth + 1);
    }
    if (!first) new_line(depth);
    out += '}';
  }
}

std::string to_text(const Value& value, int indent) {
  std::string out;
  append_text(out, value, indent);
  return out;
}

}  // namespace berth::json
