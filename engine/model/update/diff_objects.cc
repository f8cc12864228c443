#include "model/update/diff_objects.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

#include "model/update/spec_changed.h"

namespace berth::model::diff {
namespace {

/// A float as Go's %v: shortest digits, an exponent below 1e-4 and from 1e6 on (R-REG-501).
std::string float_text(double v) {
  if (v == 0) return std::signbit(v) ? "-0" : "0";
  char text[32];  // the shortest digits that read back to the same bits: d.ddde+dd
  const char* const end = std::to_chars(text, text + sizeof text, std::abs(v), std::chars_format::scientific).ptr;
  const std::string_view scientific(text, static_cast<std::size_t>(end - text));
  const std::size_t mark = scientific.find('e');
  const int exponent = std::stoi(std::string(scientific.substr(mark + 1)));
  std::string digits(scientific.substr(0, 1));
  if (mark > 2) digits += scientific.substr(2, mark - 2);
  const std::string sign = v < 0 ? "-" : "";
  if (exponent < -4 || exponent >= 6)
    return sign + digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "") +
           (exponent < 0 ? "e-" : "e+") + (std::abs(exponent) < 10 ? "0" : "") + std::to_string(std::abs(exponent));
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string leaf_text(const Value& v) {
  if (v.is_bool()) return v.as_bool() ? "true" : "false";
  if (v.is_string()) return v.as_string();
  return v.is_double() ? float_text(v.as_double()) : v.is_int() ? json::to_text(v) : std::string();
}

const char* type_of(const std::string& before, const std::string& after) {
  if (before == after) return "None";
  return before.empty() ? "Added" : after.empty() ? "Deleted" : "Edited";
}

Value field(const std::string& name, const std::string& before, const std::string& after) {
  Value out = Value::object();
  out.set("Annotations", Value());
  out.set("Name", name), out.set("New", after), out.set("Old", before), out.set("Type", type_of(before, after));
  return out;
}

int type_rank(const Value& object) {
  const std::string& type = object["Type"].as_string();
  return type == "Edited" ? 0 : type == "Added" ? 1 : type == "Deleted" ? 2 : 3;
}

bool before_in_list(const Value& a, const Value& b) {
  const auto key = [](const Value& f) {
    return std::tie(f["Name"].as_string(), f["Old"].as_string(), f["New"].as_string());
  };
  return key(a) < key(b);
}

Array& list_of(Value& object, const char* key) {
  static thread_local Array none;
  none.clear();
  Value* list = object.find(key);
  return list && list->is_array() ? list->items() : none;
}

/// The order of R-REG-510. Sorts the objects inside both arguments as a side effect, which persists.
bool comes_before(Value& a, Value& b) {
  const std::string &a_name = std::as_const(a)["Name"].as_string(), &b_name = std::as_const(b)["Name"].as_string();
  if (a_name != b_name) return a_name < b_name;
  if (type_rank(a) != type_rank(b)) return type_rank(a) < type_rank(b);
  for (const char* part : {"Fields", "Objects"})
    if (const std::size_t x = std::as_const(a)[part].size(), y = std::as_const(b)[part].size(); x != y) return x < y;
  if (a == b) return false;
  const Array &a_fields = std::as_const(a)["Fields"].items(), &b_fields = std::as_const(b)["Fields"].items();
  for (std::size_t i = 0; i < a_fields.size(); ++i)
    if (before_in_list(a_fields[i], b_fields[i])) return true;
  if (std::as_const(a)["Objects"].size() == 0) return false;
  Array &a_objects = list_of(a, "Objects"), &b_objects = b.find("Objects")->items();
  sort_objects(a_objects), sort_objects(b_objects);
  for (std::size_t i = 0; i < a_objects.size(); ++i)
    if (comes_before(a_objects[i], b_objects[i])) return true;
  return false;
}

void merge_sort(Array& list, std::size_t begin, std::size_t end) {
  if (end - begin < 2) return;
  const std::size_t middle = begin + (end - begin) / 2;
  merge_sort(list, begin, middle), merge_sort(list, middle, end);
  Array merged;
  merged.reserve(end - begin);
  std::size_t left = begin, right = middle;
  while (left < middle && right < end)
    merged.push_back(std::move(comes_before(list[right], list[left]) ? list[right++] : list[left++]));
  for (; left < middle; ++left) merged.push_back(std::move(list[left]));
  for (; right < end; ++right) merged.push_back(std::move(list[right]));
  std::move(merged.begin(), merged.end(), list.begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace

void flatten(const std::string& name, const Value& v, Texts& out, bool nulls) {
  if (v.is_null()) {
    if (nulls) out[name] = "nil";
    return;
  }
  if (!v.is_object() && !v.is_array()) out[name] = leaf_text(v);
  for (const json::Member& m : v.members()) flatten(name + "[" + m.key + "]", m.value, out, nulls);
  for (std::size_t i = 0; i < v.items().size(); ++i)
    flatten(name + "[" + std::to_string(i) + "]", v.items()[i], out, nulls);
}

Texts flattened(const Value& object, bool nulls) {
  Texts out;
  for (const json::Member& m : object.members()) flatten(m.key, m.value, out, nulls);
  return out;
}

Texts scalars(const Value& block, Fields fields, std::initializer_list<const char*> maps) {
  Texts out;
  if (!block.is_object()) return out;
  for (const auto& [key, absent] : fields) {
    const Value& value = block[key];
    out[key] = value.is_null() ? absent : leaf_text(value);
  }
  for (const char* key : maps) flatten(key, block[key], out);
  return out;
}

Value fields_of(const Texts& before, const Texts& after, Equal equal) {
  static const std::string kNone;
  std::map<std::string, std::pair<const std::string*, const std::string*>> both;
  for (const auto& [name, text] : before) both[name] = {&text, &kNone};
  for (const auto& [name, text] : after) {
    auto& entry = both[name];
    if (!entry.first) entry.first = &kNone;
    entry.second = &text;
  }
  Value out = Value::array();
  for (const auto& [name, texts] : both)
    if (equal == Equal::listed || *texts.first != *texts.second) out.push(field(name, *texts.first, *texts.second));
  return out;
}

Value null_if_empty(Value list) { return list.size() == 0 ? Value() : list; }
bool is_there(const Value& block) { return block.is_object(); }

bool same(const Value& a, const Value& b) {
  return json::equal_ignoring_member_order(a, b) ||
         json::equal_ignoring_member_order(without_zeros(a), without_zeros(b));
}

Value object(std::string_view name, std::string_view type, Value fields, Value objects) {
  Value out = Value::object();
  out.set("Fields", null_if_empty(std::move(fields)));
  out.set("Name", name);
  out.set("Objects", null_if_empty(std::move(objects)));
  out.set("Type", type);
  return out;
}

Value deep(std::string_view name, const Value& before, const Value& after, Value fields, Value objects) {
  const bool had = is_there(before), has = is_there(after);
  if (had == has && (!had || same(before, after))) return {};
  return object(name, !had ? "Added" : !has ? "Deleted" : "Edited", std::move(fields), std::move(objects));
}

Value by_fields(std::string_view name, const Texts& before, const Texts& after) {
  Value fields = fields_of(before, after, Equal::listed);
  bool added = false, deleted = false, edited = false;
  for (const Value& f : std::as_const(fields).items()) {
    const std::string& type = f["Type"].as_string();
    added |= type == "Added", deleted |= type == "Deleted", edited |= type == "Edited";
  }
  if (!added && !deleted && !edited) return {};
  return object(name, edited || (added && deleted) ? "Edited" : added ? "Added" : "Deleted", std::move(fields));
}

Value text_set(std::string_view name, const Value& before, const Value& after, Equal equal) {
  std::set<std::string> old_texts, new_texts;
  for (const Value& v : before.items()) old_texts.insert(leaf_text(v));
  for (const Value& v : after.items()) new_texts.insert(leaf_text(v));
  std::set<std::pair<std::string, std::string>> entries;
  bool added = false, deleted = false;
  for (const std::string& text : old_texts) {
    const bool kept = new_texts.contains(text);
    entries.emplace(text, kept ? text : "");
    deleted |= !kept;
  }
  for (const std::string& text : new_texts)
    if (!old_texts.contains(text)) entries.emplace("", text), added = true;
  if (entries.empty() || (!added && !deleted && equal == Equal::left_out)) return {};
  Value fields = Value::array();
  for (const auto& [from, to] : entries) fields.push(field(std::string(name), from, to));
  return object(name, added && deleted ? "Edited" : added ? "Added" : deleted ? "Deleted" : "None", std::move(fields));
}

void append(Value object, Value& out) {
  if (!object.is_null()) out.push(std::move(object));
}

void append(Array objects, Value& out) {
  std::erase_if(objects, [](const Value& v) { return v.is_null(); });
  sort_objects(objects);
  for (Value& v : objects) out.push(std::move(v));
}

void sort_objects(Array& list) {
  if (list.size() > 12) return merge_sort(list, 0, list.size());
  for (std::size_t i = 1; i < list.size(); ++i)
    for (std::size_t at = i; at > 0 && comes_before(list[at], list[at - 1]); --at) std::swap(list[at], list[at - 1]);
}

void keyed(const Value& before, const Value& after, const Key& key, const Pair& pair, Value& out) {
  // The last item of equal keys counts.
  std::unordered_map<std::string, const Value*> olds, news;
  for (const Value& v : before.items()) olds[key(v)] = &v;
  for (const Value& v : after.items()) news[key(v)] = &v;
  Array list;
  for (const Value& v : before.items()) {
    const std::string k = key(v);
    if (olds[k] != &v) continue;
    const auto other = news.find(k);
    list.push_back(pair(v, other == news.end() ? Value() : *other->second));
  }
  for (const Value& v : after.items()) {
    const std::string k = key(v);
    if (news[k] == &v && !olds.contains(k)) list.push_back(pair(Value(), v));
  }
  append(std::move(list), out);
}

void positional(const Value& before, const Value& after, const Pair& pair, Value& out) {
  Array list;
  const Value none;
  for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i)
    list.push_back(pair(i < before.size() ? before.items()[i] : none, i < after.size() ? after.items()[i] : none));
  append(std::move(list), out);
}

}  // namespace berth::model::diff
