// R-HCL-600 to 617: lists, sets, maps, tuples, objects.
#include <algorithm>

#include "hcl/function_table.h"

namespace berth::hcl {
namespace {

using Values = std::vector<Value>;

constexpr const char* kNotACollection = "collection must be a list, a map or a tuple";

bool is_list_or_tuple(const Value& value) { return value.kind() == Kind::list || value.kind() == Kind::tuple; }

Values copy_items(const Value& value) { return {value.items().begin(), value.items().end()}; }

/// Converts each item to `element`; fails if one does not convert.
tl::expected<Values, std::string> converted(std::span<const Value> items, const Type& element) {
  Values result;
  result.reserve(items.size());
  for (const Value& item : items) {
    auto value = convert(item, element);
    if (!value) return tl::unexpected(std::move(value.error()));
    result.push_back(*std::move(value));
  }
  return result;
}

CallOutcome length(Arguments arguments, const FileAccess&) {
  if (!arguments[0].has_items() && arguments[0].kind() != Kind::map) return fail(kNotACollection);
  return Value::of(static_cast<std::int64_t>(arguments[0].size()));
}

CallOutcome concat(Arguments arguments, const FileAccess&) {
  if (arguments.empty()) return fail("at least one argument is required");
  bool lists = true;
  std::vector<Type> elements;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_list_or_tuple(arguments[i])) {
      return fail_argument(i, "all arguments must be lists or tuples; got " + arguments[i].type().name());
    }
    lists = lists && arguments[i].kind() == Kind::list;
    if (lists) elements.push_back(arguments[i].type().element());
  }
  Values all;
  std::size_t weight = 0;
  for (const Value& argument : arguments) {
    weight += argument.weight();
    if (weight > kMaxWeight) return fail(kTooLarge);
    all.insert(all.end(), argument.items().begin(), argument.items().end());
  }
  if (lists) {
    if (const auto element = unify(elements)) {
      auto items = converted(all, *element);
      if (!items) return fail(std::move(items.error()));
      return Value::list(*element, *std::move(items));
    }
  }
  return Value::tuple(std::move(all));
}

CallOutcome contains(Arguments arguments, const FileAccess&) {
  if (!arguments[0].has_items()) return fail("argument must be list, tuple, or set");
  if (arguments[1].is_null()) return Value::unknown();
  const auto items = arguments[0].items();
  return Value::of(
      std::any_of(items.begin(), items.end(), [&](const Value& item) { return equal(item, arguments[1]); }));
}

CallOutcome coalesce(Arguments arguments, const FileAccess&) {
  std::vector<Type> types;
  for (const Value& argument : arguments) types.push_back(argument.type());
  const auto type = arguments.empty() ? std::nullopt : unify(types);
  if (!type) return fail("all arguments must have the same type");
  for (const Value& argument : arguments) {
    if (!argument.is_null()) return or_fail(convert(argument, *type));
  }
  return fail("no non-null arguments");
}

CallOutcome coalesce_list(Arguments arguments, const FileAccess&) {
  if (arguments.empty()) return fail("at least one argument is required");
  for (const Value& argument : arguments) {
    if (!is_list_or_tuple(argument)) return fail("coalescelist arguments must be lists or tuples");
    if (argument.is_value() && argument.size() > 0) return argument;
  }
  return fail("no non-null arguments");
}

CallOutcome compact(Arguments arguments, const FileAccess&) {
  Values items;
  for (const Value& item : arguments[0].items()) {
    if (!item.is_null() && !item.string().empty()) items.push_back(item);
  }
  return Value::list(Kind::string, std::move(items));
}

CallOutcome distinct(Arguments arguments, const FileAccess&) {
  const auto items = arguments[0].items();
  // Sorted by value and position: the first of each run of equal values is the first in the list.
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return compare(items[a], items[b]) < 0; });
  std::vector<bool> first(items.size(), true);
  for (std::size_t i = 1; i < order.size(); ++i) {
    first[order[i]] = compare(items[order[i - 1]], items[order[i]]) != 0;
  }
  Values result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (first[i]) result.push_back(items[i]);
  }
  return Value::list(arguments[0].type().element(), std::move(result));
}

CallOutcome chunk_list(Arguments arguments, const FileAccess&) {
  const auto size = to_integer(arguments[1].number());
  if (!size) return fail(size.error());
  if (*size < 0) return fail_argument(1, "the size argument must be positive");
  const auto items = arguments[0].items();
  const Type element = arguments[0].type().element();
  Values chunks;
  const std::size_t step = *size == 0 ? std::max<std::size_t>(items.size(), 1) : static_cast<std::size_t>(*size);
  for (std::size_t begin = 0; begin < items.size(); begin += std::min(step, items.size() - begin)) {
    const auto chunk = items.subspan(begin, std::min(step, items.size() - begin));
    chunks.push_back(Value::list(element, Values(chunk.begin(), chunk.end())));
  }
  return Value::list(Type::list(element), std::move(chunks));
}

CallOutcome element(Arguments arguments, const FileAccess&) {
  const auto index = to_integer(arguments[1].number());
  if (!is_list_or_tuple(arguments[0])) return fail("cannot read elements from " + arguments[0].type().name());
  if (!index) return fail("invalid index: " + index.error());
  const auto count = static_cast<std::int64_t>(arguments[0].size());
  if (count == 0) return fail("cannot use element function with an empty list");
  const std::int64_t place = *index % count;
  return arguments[0].items()[static_cast<std::size_t>(place < 0 ? place + count : place)];
}

CallOutcome index(Arguments arguments, const FileAccess&) {
  const Value& collection = arguments[0];
  const Value& key = arguments[1];
  if (collection.kind() == Kind::map) {
    if (key.kind() != Kind::string) return fail("key for map must be string");
    const Value* found = collection.member(key.string());
    if (found == nullptr) return fail("invalid index");
    return *found;
  }
  if (!is_list_or_tuple(collection)) return fail(kNotACollection);
  const std::string name = collection.kind() == Kind::list ? "list" : "tuple";
  if (key.kind() != Kind::number) return fail("key for " + name + " must be number");
  const auto place = key.number().to_int64();
  const auto count = static_cast<std::int64_t>(collection.size());
  if (!place || *place < 0 || *place >= count) {
    if (collection.kind() == Kind::list) return fail("invalid index");
    return fail("key must be between 0 and " + std::to_string(count) + " inclusive");
  }
  return collection.items()[static_cast<std::size_t>(*place)];
}

void flatten_into(Values& out, const Value& value) {
  for (const Value& item : value.items()) {
    if (item.is_value() && item.has_items()) {
      flatten_into(out, item);
    } else {
      out.push_back(item);
    }
  }
}

CallOutcome flatten(Arguments arguments, const FileAccess&) {
  if (!arguments[0].has_items()) return fail("can only flatten lists, sets and tuples");
  Values items;
  flatten_into(items, arguments[0]);
  return Value::tuple(std::move(items));
}

CallOutcome keys(Arguments arguments, const FileAccess&) {
  if (!arguments[0].has_members()) return fail_argument(0, "must have map or object type");
  Values names;
  for (const auto& member : arguments[0].members()) names.push_back(Value::of(member.key));
  if (arguments[0].kind() == Kind::map) return Value::list(Kind::string, std::move(names));
  return Value::tuple(std::move(names));
}

CallOutcome values(Arguments arguments, const FileAccess&) {
  if (!arguments[0].has_members()) return fail("values() requires a map as the first argument");
  Values items;
  for (const auto& member : arguments[0].members()) items.push_back(member.value);
  if (arguments[0].kind() == Kind::map) return Value::list(arguments[0].type().element(), std::move(items));
  return Value::tuple(std::move(items));
}

CallOutcome lookup(Arguments arguments, const FileAccess&) {
  const Value& map = arguments[0];
  if (!map.has_members()) return fail_argument(0, "lookup() requires a map as the first argument");
  const Value* found = map.member(arguments[1].string());
  if (map.kind() == Kind::object) return found != nullptr ? *found : arguments[2];
  auto fallback = convert(arguments[2], map.type().element());
  if (!fallback) return fail_argument(2, "the default value must have the same type as the map elements");
  return found != nullptr ? *found : *fallback;
}

CallOutcome merge(Arguments arguments, const FileAccess&) {
  std::vector<Value::Member> members;
  const Value* first = nullptr;
  bool maps = true;
  std::size_t weight = 0;
  for (const Value& argument : arguments) {
    if (argument.is_null()) continue;
    if (!argument.has_members()) {
      return fail("arguments must be maps or objects, got \"" + argument.type().name() + "\"");
    }
    if (first == nullptr) first = &argument;
    maps = maps && argument.kind() == Kind::map && argument.type() == first->type();
    weight += argument.weight();
    if (weight > kMaxWeight) return fail(kTooLarge);
    members.insert(members.end(), argument.members().begin(), argument.members().end());
  }
  if (first != nullptr && maps) return Value::map(first->type().element(), std::move(members));
  return Value::object(std::move(members));
}

CallOutcome slice(Arguments arguments, const FileAccess&) {
  const Value& list = arguments[0];
  if (list.kind() == Kind::set) {
    return fail_argument(0,
                         "cannot slice a set, because its elements do not have indices; explicitly convert to a list "
                         "if the ordering of the result is not important");
  }
  if (!is_list_or_tuple(list)) return fail_argument(0, "must be a list or tuple value");
  const auto begin = to_integer(arguments[1].number());
  if (!begin) return fail_argument(1, begin.error());
  const auto end = to_integer(arguments[2].number());
  if (!end) return fail_argument(2, end.error());
  if (*begin < 0) return fail_argument(1, "start index must not be less than zero");
  if (*end > static_cast<std::int64_t>(list.size())) {
    return fail_argument(2, "end index must not be greater than the length of the list");
  }
  if (*begin > *end) return fail_argument(1, "start index must not be greater than end index");
  const auto part = list.items().subspan(static_cast<std::size_t>(*begin), static_cast<std::size_t>(*end - *begin));
  Values items(part.begin(), part.end());
  if (list.kind() == Kind::list) return Value::list(list.type().element(), std::move(items));
  return Value::tuple(std::move(items));
}

CallOutcome zip_map(Arguments arguments, const FileAccess&) {
  const auto names = arguments[0].items();
  if (!is_list_or_tuple(arguments[1])) return fail("values argument must be a list or tuple value");
  if (names.size() != arguments[1].size()) {
    return fail("number of keys (" + std::to_string(names.size()) + ") does not match number of values (" +
                std::to_string(arguments[1].size()) + ")");
  }
  std::vector<Value::Member> members;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].is_null()) return fail("keys list has null value at index " + std::to_string(i));
    members.push_back({names[i].string(), arguments[1].items()[i]});
  }
  if (arguments[1].kind() == Kind::list) return Value::map(arguments[1].type().element(), std::move(members));
  return Value::object(std::move(members));
}

/// The sets, converted to one element type.
tl::expected<Values, std::string> alike_sets(Arguments arguments, Type& element) {
  std::vector<Type> types;
  for (const Value& set : arguments) types.push_back(set.type().element());
  const auto unified = unify(types);
  if (!unified) return tl::unexpected<std::string>("given sets must all have compatible element types");
  element = *unified;
  Values sets;
  for (const Value& set : arguments) {
    auto items = converted(set.items(), element);
    if (!items) return tl::unexpected(std::move(items.error()));
    sets.push_back(Value::set(element, *std::move(items)));
  }
  return sets;
}

CallOutcome set_union(Arguments arguments, const FileAccess&) {
  Type element;
  const auto sets = alike_sets(arguments, element);
  if (!sets) return fail(sets.error());
  Values all;
  for (const Value& set : *sets) all.insert(all.end(), set.items().begin(), set.items().end());
  return Value::set(element, std::move(all));
}

CallOutcome set_intersection(Arguments arguments, const FileAccess&) {
  Type element;
  const auto sets = alike_sets(arguments, element);
  if (!sets) return fail(sets.error());
  Values common = copy_items((*sets)[0]);
  for (const Value& set : std::span(*sets).subspan(1)) {
    Values both;
    std::set_intersection(common.begin(), common.end(), set.items().begin(), set.items().end(),
                          std::back_inserter(both), [](const Value& a, const Value& b) { return compare(a, b) < 0; });
    common = std::move(both);
  }
  return Value::set(element, std::move(common));
}

CallOutcome set_product(Arguments arguments, const FileAccess&) {
  if (arguments.size() < 2) return fail("at least two arguments are required");
  bool any_set = false;
  std::vector<Type> elements;
  std::vector<Values> factors;
  std::size_t rows = 1;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Value& argument = arguments[i];
    if (!argument.has_items()) return fail_argument(i, "a set or a list is required");
    any_set = any_set || argument.kind() == Kind::set;
    Type element = argument.type().element();
    if (argument.kind() == Kind::tuple) {
      const Type tuple = argument.type();
      const auto unified = unify(tuple.items());
      if (!unified) return fail_argument(i, "all elements must be of the same type");
      element = *unified;
    }
    auto items = converted(argument.items(), element);
    if (!items) return fail_argument(i, std::move(items.error()));
    elements.push_back(std::move(element));
    factors.push_back(*std::move(items));
    // Each row is a tuple of one value per argument, at 16 bytes or more each.
    if (__builtin_mul_overflow(rows, argument.size(), &rows) || rows > kMaxWeight / (16 * (arguments.size() + 1))) {
      return fail(kTooLarge);
    }
  }
  Values result;
  result.reserve(rows);
  std::vector<std::size_t> place(factors.size(), 0);
  std::size_t weight = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    Values items;
    items.reserve(factors.size());
    for (std::size_t i = 0; i < factors.size(); ++i) items.push_back(factors[i][place[i]]);
    result.push_back(Value::tuple(std::move(items)));
    weight += result.back().weight();
    if (weight > kMaxWeight) return fail(kTooLarge);
    for (std::size_t i = factors.size(); i-- > 0;) {  // the last argument varies fastest
      if (++place[i] < factors[i].size()) break;
      place[i] = 0;
    }
  }
  const Type type = Type::tuple(std::move(elements));
  return any_set ? Value::set(type, std::move(result)) : Value::list(type, std::move(result));
}

}  // namespace

void add_collection_functions(Functions& table) {
  const Type any;
  table.push_back({"length", {{"collection", any}}, {}, length});
  table.push_back({"concat", {}, Parameter{"seqs", any}, concat});
  table.push_back({"contains", {{"list", any}, {"value", any, true}}, {}, contains});
  table.push_back({"coalesce", {}, Parameter{"vals", any, true}, coalesce});
  table.push_back({"coalescelist", {}, Parameter{"vals", any, true}, coalesce_list});
  table.push_back({"compact", {{"list", Type::list(Kind::string)}}, {}, compact});
  table.push_back({"distinct", {{"list", Type::list(any)}}, {}, distinct});
  table.push_back({"chunklist", {{"list", Type::list(any)}, {"size", Kind::number}}, {}, chunk_list});
  table.push_back({"element", {{"list", any}, {"index", Kind::number}}, {}, element});
  table.push_back({"index", {{"collection", any}, {"key", any}}, {}, index});
  table.push_back({"flatten", {{"list", any}}, {}, flatten});
  table.push_back({"keys", {{"inputMap", any}}, {}, keys});
  table.push_back({"values", {{"mapping", any}}, {}, values});
  table.push_back({"lookup", {{"inputMap", any}, {"key", Kind::string}, {"default", any}}, {}, lookup});
  table.push_back({"merge", {}, Parameter{"maps", any, true}, merge});
  table.push_back({"slice", {{"list", any}, {"start_index", Kind::number}, {"end_index", Kind::number}}, {}, slice});
  table.push_back({"zipmap", {{"keys", Type::list(Kind::string)}, {"values", any}}, {}, zip_map});
  const Parameter first_set{"first_set", Type::set(any)};
  const Parameter other_sets{"other_sets", Type::set(any)};
  table.push_back({"setunion", {first_set}, other_sets, set_union});
  table.push_back({"setintersection", {first_set}, other_sets, set_intersection});
  table.push_back({"setproduct", {}, Parameter{"sets", any}, set_product});
}

}  // namespace berth::hcl
