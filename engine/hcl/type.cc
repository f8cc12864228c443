#include "hcl/type.h"

#include <algorithm>

#include "base/assert.h"
#include "base/json.h"

namespace berth::hcl {

struct Type::Node {
  Type element;
  std::vector<Type> items;
  std::vector<Attribute> attributes;
  bool has_dynamic = false;
};

Type Type::collection(Kind kind, Type element) {
  BERTH_ASSERT(kind == Kind::list || kind == Kind::set || kind == Kind::map);
  Type type(kind);
  auto node = std::make_shared<Node>();
  node->has_dynamic = element.has_dynamic();
  node->element = std::move(element);
  type.node_ = std::move(node);
  return type;
}

Type Type::list(Type element) { return collection(Kind::list, std::move(element)); }
Type Type::set(Type element) { return collection(Kind::set, std::move(element)); }
Type Type::map(Type element) { return collection(Kind::map, std::move(element)); }

Type Type::tuple(std::vector<Type> items) {
  Type type(Kind::tuple);
  auto node = std::make_shared<Node>();
  node->has_dynamic = std::any_of(items.begin(), items.end(), [](const Type& item) { return item.has_dynamic(); });
  node->items = std::move(items);
  type.node_ = std::move(node);
  return type;
}

Type Type::object(std::vector<Attribute> attributes) {
  Type type(Kind::object);
  auto node = std::make_shared<Node>();
  std::stable_sort(attributes.begin(), attributes.end(),
                   [](const Attribute& a, const Attribute& b) { return a.name < b.name; });
  for (auto& attribute : attributes) {
    node->has_dynamic |= attribute.type.has_dynamic();
    if (!node->attributes.empty() && node->attributes.back().name == attribute.name) {
      node->attributes.back() = std::move(attribute);
    } else {
      node->attributes.push_back(std::move(attribute));
    }
  }
  type.node_ = std::move(node);
  return type;
}

const Type& Type::element() const {
  static const Type kDynamic;
  return node_ != nullptr && is_collection() ? node_->element : kDynamic;
}

std::span<const Type> Type::items() const {
  if (node_ == nullptr) return {};
  return node_->items;
}

std::span<const Type::Attribute> Type::attributes() const {
  if (node_ == nullptr) return {};
  return node_->attributes;
}

const Type* Type::attribute(std::string_view name) const {
  const auto all = attributes();
  const auto found = std::lower_bound(all.begin(), all.end(), name,
                                      [](const Attribute& a, std::string_view wanted) { return a.name < wanted; });
  return found != all.end() && found->name == name ? &found->type : nullptr;
}

bool Type::has_dynamic() const { return is_dynamic() || (node_ != nullptr && node_->has_dynamic); }

std::string Type::name() const {
  switch (kind_) {
    case Kind::dynamic:
      return "dynamic";
    case Kind::boolean:
      return "bool";
    case Kind::number:
      return "number";
    case Kind::string:
      return "string";
    case Kind::list:
      return "list of " + element().name();
    case Kind::set:
      return "set of " + element().name();
    case Kind::map:
      return "map of " + element().name();
    case Kind::tuple:
      return "tuple";
    case Kind::object:
      return "object";
  }
  return "";
}

std::string Type::expression() const {
  std::string text;
  switch (kind_) {
    case Kind::dynamic:
      return "any";
    case Kind::boolean:
    case Kind::number:
    case Kind::string:
      return name();
    case Kind::list:
      return "list(" + element().expression() + ")";
    case Kind::set:
      return "set(" + element().expression() + ")";
    case Kind::map:
      return "map(" + element().expression() + ")";
    case Kind::tuple:
      for (const Type& item : items()) text += (text.empty() ? "" : ",") + item.expression();
      return "tuple([" + text + "])";
    case Kind::object:
      for (const Attribute& attribute : attributes()) {
        if (!text.empty()) text += ',';
        text += attribute.name + "=" + attribute.type.expression();
      }
      return "object({" + text + "})";
  }
  return text;
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind_ != b.kind_) return false;
  if (a.node_ == b.node_) return true;
  return a.element() == b.element() && std::ranges::equal(a.items(), b.items()) &&
         std::ranges::equal(a.attributes(), b.attributes());
}

namespace {

bool is_sequence(Kind kind) { return kind == Kind::list || kind == Kind::set || kind == Kind::tuple; }

/// True if every value of type `from` converts to `to`, so that `to` can replace both.
bool always_converts(const Type& from, const Type& to) {
  if (from.is_dynamic() || to.is_dynamic() || from == to) return true;
  if (from.is_primitive() && to.is_primitive()) return to.kind() == Kind::string;
  if (to.kind() == Kind::list || to.kind() == Kind::set) {
    if (!is_sequence(from.kind())) return false;
    if (from.kind() != Kind::tuple) return always_converts(from.element(), to.element());
    return std::ranges::all_of(from.items(), [&](const Type& item) { return always_converts(item, to.element()); });
  }
  if (to.kind() == Kind::map) {
    if (from.kind() == Kind::map) return always_converts(from.element(), to.element());
    return from.kind() == Kind::object && std::ranges::all_of(from.attributes(), [&](const Type::Attribute& attribute) {
             return always_converts(attribute.type, to.element());
           });
  }
  return false;
}

class Unification {
 public:
  explicit Unification(std::span<const Type> types) {
    for (const Type& type : types) {
      if (!type.is_dynamic()) types_.push_back(&type);
    }
  }

  std::optional<Type> run() const {
    if (types_.empty()) return Type();
    if (std::ranges::all_of(types_, [&](const Type* type) { return *type == *types_[0]; })) return *types_[0];
    if (all({Kind::boolean, Kind::number, Kind::string})) {
      if (!any(Kind::string)) return std::nullopt;
      return Type(Kind::string);
    }
    if (all({Kind::tuple})) return tuples();
    if (all({Kind::object})) return objects();
    if (all({Kind::map, Kind::object})) return of_elements(Kind::map);
    if (all({Kind::list, Kind::tuple})) return of_elements(Kind::list);
    if (all({Kind::set})) return of_elements(Kind::set);
    for (const Type* candidate : types_) {  // sets with tuples
      if (candidate->is_collection() &&
          std::ranges::all_of(types_, [&](const Type* type) { return always_converts(*type, *candidate); })) {
        return *candidate;
      }
    }
    return std::nullopt;
  }

 private:
  bool all(std::initializer_list<Kind> kinds) const {
    return std::ranges::all_of(types_, [&](const Type* type) { return std::ranges::count(kinds, type->kind()) > 0; });
  }
  bool any(Kind kind) const {
    return std::ranges::any_of(types_, [&](const Type* type) { return type->kind() == kind; });
  }

  std::optional<Type> of_elements(Kind collection) const {
    std::vector<Type> elements;
    for (const Type* type : types_) {
      if (type->is_collection()) elements.push_back(type->element());
      for (const Type& item : type->items()) elements.push_back(item);
      for (const auto& attribute : type->attributes()) elements.push_back(attribute.type);
    }
    auto element = unify(elements);
    if (!element) return std::nullopt;
    return Type::collection(collection, *std::move(element));
  }

  std::optional<Type> tuples() const {
    const std::size_t length = types_[0]->items().size();
    if (std::ranges::any_of(types_, [&](const Type* type) { return type->items().size() != length; })) {
      return of_elements(Kind::list);
    }
    std::vector<Type> items;
    for (std::size_t i = 0; i < length; ++i) {
      std::vector<Type> column;
      for (const Type* type : types_) column.push_back(type->items()[i]);
      auto item = unify(column);
      if (!item) return std::nullopt;
      items.push_back(*std::move(item));
    }
    return Type::tuple(std::move(items));
  }

  std::optional<Type> objects() const {
    const auto first = types_[0]->attributes();
    const bool same_names = std::ranges::all_of(types_, [&](const Type* type) {
      return std::ranges::equal(type->attributes(), first, {}, &Type::Attribute::name, &Type::Attribute::name);
    });
    if (!same_names) return of_elements(Kind::map);
    std::vector<Type::Attribute> attributes;
    for (std::size_t i = 0; i < first.size(); ++i) {
      std::vector<Type> column;
      for (const Type* type : types_) column.push_back(type->attributes()[i].type);
      auto attribute = unify(column);
      if (!attribute) return of_elements(Kind::map);
      attributes.push_back({first[i].name, *std::move(attribute)});
    }
    return Type::object(std::move(attributes));
  }

  std::vector<const Type*> types_;  // without those that are dynamic
};

}  // namespace

std::optional<Type> unify(std::span<const Type> types) {
  auto type = Unification(types).run();
  // If one type is dynamic, no common type is required: each value keeps its own.
  if (!type && std::ranges::any_of(types, [](const Type& t) { return t.is_dynamic(); })) return Type();
  return type;
}

}  // namespace berth::hcl
