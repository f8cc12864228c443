#include "hcl/value.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

constexpr std::size_t kValueWeight = 16;  // of each value, in addition to its text

std::size_t plus(std::size_t a, std::size_t b) {
  std::size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::size_t>::max() : sum;
}

/// Summary of the parts of a value.
struct Summary {
  std::size_t weight = kValueWeight;
  int depth = 1;
  bool wholly_known = true;

  void count(const Value& value) {
    weight = plus(weight, value.weight());
    depth = std::max(depth, value.depth() + 1);
    wholly_known = wholly_known && value.is_wholly_known();
  }
};

}  // namespace

struct Value::Items {
  Type element;
  std::vector<Value> values;
  Summary summary;
};

struct Value::Members {
  Type element;
  std::vector<Member> members;
  Summary summary;
};

Value Value::null(Type type) {
  Value value(type.kind(), State::null);
  if (!type.is_dynamic()) value.data_ = std::move(type);
  return value;
}

Value Value::unknown(Type type) {
  Value value(type.kind(), State::unknown);
  if (!type.is_dynamic()) value.data_ = std::move(type);
  return value;
}

Value Value::of(bool boolean) {
  Value value(Kind::boolean, State::known);
  value.data_ = boolean;
  return value;
}

Value Value::of(Number number) {
  Value value(Kind::number, State::known);
  value.data_ = std::move(number);
  return value;
}

Value Value::of(std::int64_t count) { return of(Number::of(count)); }

Value Value::of(std::string_view text) {
  Value value(Kind::string, State::known);
  value.data_ = std::make_shared<const std::string>(nfc(text));
  return value;
}

Value Value::sequence(Kind kind, Type element, std::vector<Value> values) {
  auto items = std::make_shared<Items>();
  for (const Value& item : values) items->summary.count(item);
  items->element = std::move(element);
  items->values = std::move(values);
  Value value(kind, State::known);
  value.data_ = std::shared_ptr<const Items>(std::move(items));
  return value;
}

Value Value::mapping(Kind kind, Type element, std::vector<Member> members) {
  auto all = std::make_shared<Members>();
  const auto less = [](const Member& a, const Member& b) { return a.key < b.key; };
  if (!std::is_sorted(members.begin(), members.end(), less)) std::stable_sort(members.begin(), members.end(), less);
  all->members.reserve(members.size());
  for (auto& member : members) {
    if (!all->members.empty() && all->members.back().key == member.key) {
      all->members.back() = std::move(member);
    } else {
      all->members.push_back(std::move(member));
    }
  }
  for (const Member& member : all->members) {
    all->summary.weight = plus(all->summary.weight, member.key.size());
    all->summary.count(member.value);
  }
  all->element = std::move(element);
  Value value(kind, State::known);
  value.data_ = std::shared_ptr<const Members>(std::move(all));
  return value;
}

Value Value::list(Type element, std::vector<Value> items) {
  return sequence(Kind::list, std::move(element), std::move(items));
}

Value Value::set(Type element, std::vector<Value> items) {
  std::stable_sort(items.begin(), items.end(), [](const Value& a, const Value& b) { return compare(a, b) < 0; });
  items.erase(
      std::unique(items.begin(), items.end(), [](const Value& a, const Value& b) { return compare(a, b) == 0; }),
      items.end());
  return sequence(Kind::set, std::move(element), std::move(items));
}

Value Value::tuple(std::vector<Value> items) { return sequence(Kind::tuple, {}, std::move(items)); }

Value Value::map(Type element, std::vector<Member> members) {
  return mapping(Kind::map, std::move(element), std::move(members));
}

Value Value::object(std::vector<Member> members) { return mapping(Kind::object, {}, std::move(members)); }

Type Value::type() const {
  if (state_ != State::known) {
    const Type* type = std::get_if<Type>(&data_);
    return type != nullptr ? *type : Type(kind_);
  }
  switch (kind_) {
    case Kind::list:
    case Kind::set:
      return Type::collection(kind_, std::get<std::shared_ptr<const Items>>(data_)->element);
    case Kind::map:
      return Type::collection(kind_, std::get<std::shared_ptr<const Members>>(data_)->element);
    case Kind::tuple: {
      std::vector<Type> types;
      for (const Value& item : items()) types.push_back(item.type());
      return Type::tuple(std::move(types));
    }
    case Kind::object: {
      std::vector<Type::Attribute> attributes;
      for (const Member& member : members()) attributes.push_back({member.key, member.value.type()});
      return Type::object(std::move(attributes));
    }
    default:
      return {kind_};
  }
}

bool Value::is_wholly_known() const {
  if (state_ == State::unknown) return false;
  if (state_ == State::null) return true;
  if (has_items()) return std::get<std::shared_ptr<const Items>>(data_)->summary.wholly_known;
  if (has_members()) return std::get<std::shared_ptr<const Members>>(data_)->summary.wholly_known;
  return true;
}

bool Value::boolean() const {
  BERTH_ASSERT(is_value() && kind_ == Kind::boolean);
  return std::get<bool>(data_);
}

const Number& Value::number() const {
  BERTH_ASSERT(is_value() && kind_ == Kind::number);
  return std::get<Number>(data_);
}

const std::string& Value::string() const {
  BERTH_ASSERT(is_value() && kind_ == Kind::string);
  return *std::get<std::shared_ptr<const std::string>>(data_);
}

std::span<const Value> Value::items() const {
  BERTH_ASSERT(is_value() && has_items());
  return std::get<std::shared_ptr<const Items>>(data_)->values;
}

std::span<const Value::Member> Value::members() const {
  BERTH_ASSERT(is_value() && has_members());
  return std::get<std::shared_ptr<const Members>>(data_)->members;
}

const Value* Value::member(std::string_view key) const {
  const auto all = members();
  const auto found = std::lower_bound(
      all.begin(), all.end(), key, [](const Member& member, std::string_view wanted) { return member.key < wanted; });
  return found != all.end() && found->key == key ? &found->value : nullptr;
}

std::size_t Value::size() const { return has_items() ? items().size() : members().size(); }

std::size_t Value::weight() const {
  if (state_ != State::known) return kValueWeight;
  if (kind_ == Kind::string) return kValueWeight + string().size();
  if (has_items()) return std::get<std::shared_ptr<const Items>>(data_)->summary.weight;
  if (has_members()) return std::get<std::shared_ptr<const Members>>(data_)->summary.weight;
  return kValueWeight;
}

int Value::depth() const {
  if (state_ != State::known) return 0;
  if (has_items()) return std::get<std::shared_ptr<const Items>>(data_)->summary.depth;
  if (has_members()) return std::get<std::shared_ptr<const Members>>(data_)->summary.depth;
  return 0;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
  if (a.kind() != b.kind()) return false;
  if (!a.is_known() || !b.is_known()) return false;
  switch (a.kind()) {
    case Kind::dynamic:
      return true;
    case Kind::boolean:
      return a.boolean() == b.boolean();
    case Kind::number:
      return a.number() == b.number();
    case Kind::string:
      return a.string() == b.string();
    case Kind::list:
    case Kind::set:
    case Kind::tuple:
      if (a.kind() != Kind::tuple && a.type() != b.type()) return false;
      return std::ranges::equal(a.items(), b.items(), equal);
    case Kind::map:
      if (a.type() != b.type()) return false;
      [[fallthrough]];
    case Kind::object:
      return std::ranges::equal(a.members(), b.members(), [](const Value::Member& x, const Value::Member& y) {
        return x.key == y.key && equal(x.value, y.value);
      });
  }
  return false;
}

int compare(const Value& a, const Value& b) {
  const auto order = [](auto x, auto y) { return x < y ? -1 : (y < x ? 1 : 0); };
  if (a.is_value() != b.is_value()) return a.is_value() ? 1 : -1;  // null and unknown first
  if (!a.is_value()) return order(a.is_known(), b.is_known());
  if (a.kind() != b.kind()) return order(a.kind(), b.kind());
  switch (a.kind()) {
    case Kind::dynamic:
      return 0;
    case Kind::boolean:
      return order(a.boolean(), b.boolean());
    case Kind::number:
      return a.number() < b.number() ? -1 : (b.number() < a.number() ? 1 : 0);
    case Kind::string:
      return order(a.string().compare(b.string()), 0);
    case Kind::list:
    case Kind::set:
    case Kind::tuple:
      for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (const int c = compare(a.items()[i], b.items()[i]); c != 0) return c;
      }
      return order(a.size(), b.size());
    case Kind::map:
    case Kind::object:
      for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const auto& x = a.members()[i];
        const auto& y = b.members()[i];
        if (const int c = order(x.key.compare(y.key), 0); c != 0) return c;
        if (const int c = compare(x.value, y.value); c != 0) return c;
      }
      return order(a.size(), b.size());
  }
  return 0;
}

tl::expected<std::int64_t, std::string> to_integer(const Number& number, std::int64_t least, std::int64_t most) {
  const auto value = number.to_int64();
  if (value && *value >= least && *value <= most) return *value;
  return tl::unexpected("value must be a whole number, between " + std::to_string(least) + " and " +
                        std::to_string(most));
}

tl::expected<std::uint64_t, std::string> to_unsigned(const Number& number, std::uint64_t most) {
  const auto value = number.to_uint64();
  if (value && *value <= most) return *value;
  return tl::unexpected("value must be a whole number, between 0 and " + std::to_string(most) + " inclusive");
}

}  // namespace berth::hcl
