#include "hcl/evaluate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "hcl/evaluator.h"
#include "hcl/unicode.h"

namespace berth::hcl {

const Value& Root::object() const {
  if (!fresh_) {
    std::vector<Value::Member> all;
    all.reserve(members.size());
    for (const auto& [name, value] : members) all.push_back({name, value});
    object_ = Value::object(std::move(all));
    fresh_ = true;
  }
  return object_;
}

void Root::set(const std::string& name, Value value) {
  members.insert_or_assign(name, std::move(value));
  fresh_ = false;
}

Value evaluate(const Expr& expr, const Context& context, const Scope* scope, Diagnostics& out) {
  Evaluator evaluator(context, scope, out);
  Value value = evaluator.value(expr);
  if (context.workspace->budget.spent()) {
    value = Value::unknown();
    if (context.workspace->budget.report()) out.add(expr.range, "Evaluation too long", Budget::kSpent);
  }
  return value;
}

std::size_t iteration_count(const Value& collection) { return collection.size(); }

Iteration iteration(const Value& collection, std::size_t position) {
  if (collection.has_members()) {
    const Value::Member& member = collection.members()[position];
    return {Value::of(std::string_view(member.key)), member.value};
  }
  const Value& item = collection.items()[position];
  if (collection.kind() == Kind::set) return {item, item};
  return {Value::of(static_cast<std::int64_t>(position)), item};
}

std::string reference_text(Range reference) {
  const std::string& text = reference.source->text();
  std::size_t left = reference.begin;
  while (left > 0 && text[left - 1] == ' ') --left;
  const std::string name(reference.content());
  if (left < 2 || text.compare(left - 2, 2, "${") != 0) return "${" + name + "}";
  std::string result = text.substr(left - 2, reference.end - (left - 2));
  // Starts one past the end of the reference: a brace directly there is added by the return below.
  for (std::size_t at = std::size_t{reference.end} + 1; at < text.size(); ++at) {
    if (text[at] == '}') {
      result.append(text, reference.end, at - reference.end);
      if (result.size() > kMaxWeight) return result;
    } else if (text[at] != ' ') {
      break;
    }
  }
  return result + '}';  // a JSON string ends here, before its quotation mark (R-HCL-318)
}

// --- Evaluator ---

bool Evaluator::charge(std::uint64_t steps) { return context_.workspace->budget.charge(steps); }

Value Evaluator::fail(Range subject, std::string_view summary, std::string detail) {
  out_->add(subject, summary, std::move(detail));
  return Value::unknown();
}

Value Evaluator::bounded(Value value, Range subject) {
  if (value.too_large()) return fail(subject, kOperationFailed, fmt::format("Error during operation: {}.", kTooLarge));
  if (value.too_deep()) return fail(subject, kOperationFailed, fmt::format("Error during operation: {}.", kTooDeep));
  return value;
}

Value Evaluator::value(const Expr& expr) {
  if (!charge(1)) return Value::unknown();
  switch (expr.kind) {
    case Expr::Kind::literal:
      return static_cast<const LiteralExpr&>(expr).value;
    case Expr::Kind::reference:
      return reference(static_cast<const ReferenceExpr&>(expr));
    case Expr::Kind::steps: {
      const auto& chain = static_cast<const StepsExpr&>(expr);
      return steps(value(*chain.source), chain.steps, 0, chain.steps.size(), chain.source->range, false);
    }
    case Expr::Kind::call:
      return call(static_cast<const CallExpr&>(expr));
    case Expr::Kind::unary:
      return unary(static_cast<const UnaryExpr&>(expr));
    case Expr::Kind::operation:
      return operation(static_cast<const OperationExpr&>(expr));
    case Expr::Kind::conditional: {
      const auto& conditional = static_cast<const ConditionalExpr&>(expr);
      return choose(*conditional.condition, *conditional.if_true, *conditional.if_false);
    }
    case Expr::Kind::tuple:
      return tuple(static_cast<const TupleExpr&>(expr));
    case Expr::Kind::object:
      return object(static_cast<const ObjectExpr&>(expr));
    case Expr::Kind::for_loop:
      return for_loop(static_cast<const ForExpr&>(expr));
    case Expr::Kind::parentheses:
      return value(*static_cast<const ParenthesesExpr&>(expr).inner);
    case Expr::Kind::string:
      return string(static_cast<const StringExpr&>(expr));
    case Expr::Kind::template_if: {
      const auto& directive = static_cast<const TemplateIfExpr&>(expr);
      return choose(*directive.condition, *directive.if_true, *directive.if_false);
    }
    case Expr::Kind::template_for:
      return template_for(static_cast<const TemplateForExpr&>(expr));
  }
  return Value::unknown();
}

// --- Names ---

Value Evaluator::reference(const ReferenceExpr& reference) {
  const std::vector<Step>& rest = reference.steps;
  std::size_t passed = 0;
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (++passed % kScopesPerStep == 0 && !charge(1)) return Value::unknown();
    if (scope->name == reference.name) {
      return steps(scope->value, rest, 0, rest.size(), reference.name_range, true);
    }
  }
  const Root* root = reference.name == "var"     ? context_.variables
                     : reference.name == "local" ? context_.locals
                                                 : nullptr;
  if (root == nullptr) return unbound(reference);
  // Looks a member up without making one object of all.
  if (!rest.empty() && (rest.front().kind == Step::Kind::attribute ||
                        (rest.front().key.kind() == Kind::string && rest.front().key.is_value()))) {
    const std::string& name =
        rest.front().kind == Step::Kind::attribute ? rest.front().name : rest.front().key.string();
    if (const auto found = root->members.find(name); found != root->members.end()) {
      return steps(found->second, rest, 1, rest.size(), reference.name_range, true);
    }
    if (rest.front().kind == Step::Kind::attribute) return no_attribute(name, rest.front().range);
  }
  if (!charge(root->object_cost())) return Value::unknown();
  return steps(root->object(), rest, 0, rest.size(), reference.name_range, true);
}

Value Evaluator::unbound(const ReferenceExpr& reference) {
  if (context_.others == Context::Others::pass) {
    std::string text = reference_text(reference.range);
    if (!charge(1 + text.size() / kBytesPerStep)) return Value::unknown();
    return bounded(Value::of(std::string_view(text)), reference.range);
  }
  if (context_.others == Context::Others::constants && scope_ == nullptr) {
    return fail(reference.name_range, "Variables not allowed", "Variables may not be used here.");
  }
  std::vector<std::string> known;
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) known.emplace_back(scope->name);
  if (context_.variables != nullptr) known.emplace_back("var");
  if (context_.locals != nullptr) known.emplace_back("local");
  std::sort(known.begin(), known.end());
  if (!charge(known.size())) return Value::unknown();
  const std::string_view meant = suggestion(reference.name, known);
  return fail(reference.name_range, "Unknown variable",
              fmt::format("There is no variable named \"{}\".{}", reference.name,
                          meant.empty() ? "" : fmt::format(" Did you mean \"{}\"?", meant)));
}

// --- Operators (R-HCL-140 to 145) ---

Value Evaluator::unary(const UnaryExpr& unary) {
  const Value operand = value(*unary.operand);
  const bool negates = unary.op == TokenKind::minus;
  const Type type = negates ? Kind::number : Kind::boolean;
  const Outcome converted = convert(operand, type);
  if (!converted) {
    return fail(unary.operand->range, "Invalid operand",
                fmt::format("Unsuitable value for unary operand: {}.", converted.error()));
  }
  if (!converted->is_known()) return Value::unknown(type);
  if (converted->is_null()) return null_operand(unary.range);
  if (negates) return Value::of(converted->number().negated());
  return Value::of(!converted->boolean());
}

Value Evaluator::null_operand(Range whole) {
  return fail(whole, kOperationFailed, "Error during operation: argument must not be null.");
}

Value Evaluator::operation(const OperationExpr& operation) {
  Value left = value(*operation.first);
  Range so_far = operation.first->range;
  for (const auto& [op, operand] : operation.rest) {
    if (!charge(1)) return Value::unknown();
    const Value right = value(*operand);
    left = apply(op, left, so_far, right, operand->range);
    so_far.end = operand->range.end;
  }
  return left;
}

Value Evaluator::apply(TokenKind op, const Value& left, Range left_range, const Value& right, Range right_range) {
  const Range whole{left_range.source, left_range.begin, right_range.end};
  if (op == TokenKind::equal || op == TokenKind::not_equal) {
    if (!left.is_wholly_known() || !right.is_wholly_known()) return Value::unknown(Kind::boolean);
    if (!charge(std::min(left.weight(), right.weight()) / kBytesPerStep)) return Value::unknown();
    return Value::of(equal(left, right) == (op == TokenKind::equal));
  }
  const bool logical = op == TokenKind::logical_and || op == TokenKind::logical_or;
  const Type type = logical ? Kind::boolean : Kind::number;
  const Outcome a = convert(left, type);
  const Outcome b = convert(right, type);
  const auto unsuitable = [&](const char* side, Range range, const Outcome& outcome) {
    if (!outcome) {
      fail(range, "Invalid operand", fmt::format("Unsuitable value for {} operand: {}.", side, outcome.error()));
    }
  };
  unsuitable("left", left_range, a);
  unsuitable("right", right_range, b);
  if (!a || !b) return Value::unknown();
  if (a->is_null() || b->is_null()) return null_operand(whole);
  if (!a->is_known() || !b->is_known()) return Value::unknown();
  if (logical) {
    return Value::of(op == TokenKind::logical_and ? a->boolean() && b->boolean() : a->boolean() || b->boolean());
  }
  return arithmetic(op, a->number(), b->number(), whole);
}

Value Evaluator::arithmetic(TokenKind op, const Number& a, const Number& b, Range whole) {
  const auto result = [&](const Number::Outcome& outcome) {
    if (outcome) return Value::of(*outcome);
    return fail(whole, kOperationFailed, fmt::format("Error during operation: {}.", outcome.error()));
  };
  switch (op) {
    case TokenKind::plus:
      return result(add(a, b));
    case TokenKind::minus:
      return result(subtract(a, b));
    case TokenKind::star:
      return result(multiply(a, b));
    case TokenKind::slash:
      return result(divide(a, b));
    case TokenKind::percent:
      return result(modulo(a, b));
    case TokenKind::less:
      return Value::of(a < b);
    case TokenKind::less_equal:
      return Value::of(a <= b);
    case TokenKind::greater:
      return Value::of(a > b);
    default:
      return Value::of(a >= b);
  }
}

// --- Conditionals (R-HCL-146, 147) ---

namespace {

std::string mismatch(const Type& a, const Type& b);

// The attribute that only the object type `a` has, or nullptr.
const Type::Attribute* only_in(const Type& a, const Type& b) {
  for (const Type::Attribute& attribute : a.attributes()) {
    if (b.attribute(attribute.name) == nullptr) return &attribute;
  }
  return nullptr;
}

std::string object_mismatch(const Type& a, const Type& b) {
  constexpr const char* kAbsent = "The '{}' value includes object attribute \"{}\", which is absent in the '{}' value";
  if (const auto* extra = only_in(a, b)) return fmt::format(fmt::runtime(kAbsent), "true", extra->name, "false");
  if (const auto* extra = only_in(b, a)) return fmt::format(fmt::runtime(kAbsent), "false", extra->name, "true");
  for (const Type::Attribute& attribute : a.attributes()) {
    const Type& other = *b.attribute(attribute.name);
    const Type pair[] = {attribute.type, other};
    if (!unify(pair)) {
      return fmt::format("Type mismatch for object attribute \"{}\": {}", attribute.name,
                         mismatch(attribute.type, other));
    }
  }
  return {};
}

std::string tuple_mismatch(const Type& a, const Type& b) {
  if (a.items().size() != b.items().size()) {
    return fmt::format("The 'true' tuple has length {}, but the 'false' tuple has length {}", a.items().size(),
                       b.items().size());
  }
  for (std::size_t i = 0; i < a.items().size(); ++i) {
    const Type pair[] = {a.items()[i], b.items()[i]};
    if (!unify(pair)) {
      return fmt::format("Type mismatch for tuple element {}: {}", i, mismatch(a.items()[i], b.items()[i]));
    }
  }
  return {};
}

// The first reason why two types do not unify. Recursion is as deep as the types.
std::string mismatch(const Type& a, const Type& b) {
  std::string why;
  if (a.kind() == Kind::object && b.kind() == Kind::object) why = object_mismatch(a, b);
  if (a.kind() == Kind::tuple && b.kind() == Kind::tuple) why = tuple_mismatch(a, b);
  if (a.is_collection() && a.kind() == b.kind() && a.element() != b.element()) {
    why = fmt::format("Mismatched {} element types: {}",
                      a.kind() == Kind::list  ? "list"
                      : a.kind() == Kind::set ? "set"
                                              : "map",
                      mismatch(a.element(), b.element()));
  }
  if (!why.empty()) return why;
  if (a.name() != b.name()) {
    return fmt::format("The 'true' value is {}, but the 'false' value is {}", a.name(), b.name());
  }
  return "At least one deeply-nested attribute or element is not compatible across both the 'true' and the 'false' "
         "value";
}

}  // namespace

Value Evaluator::choose(const Expr& condition, const Expr& if_true, const Expr& if_false) {
  Diagnostics from_true, from_false;
  const Value true_value = aside(if_true, from_true);
  const Value false_value = aside(if_false, from_false);
  if (!charge((true_value.weight() + false_value.weight()) / kBytesPerStep)) return Value::unknown();
  const Type types[] = {true_value.type(), false_value.type()};
  const std::optional<Type> type = unify(types);
  constexpr std::string_view kInconsistent = "Inconsistent conditional result types";
  const Range branches{if_true.range.source, if_true.range.begin, if_false.range.end};
  if (!type) {
    return fail(branches, kInconsistent,
                fmt::format("The true and false result expressions must have consistent types. {}.",
                            mismatch(types[0], types[1])));
  }
  const Value decider = value(condition);
  if (decider.is_null()) {
    return fail(condition.range, "Null condition",
                "The condition value is null. Conditions must either be true or false.");
  }
  if (!decider.is_known()) return Value::unknown(*type);
  const Outcome decided = to_bool(decider);
  if (!decided) {
    return fail(condition.range, "Incorrect condition type", "The condition expression must be of type bool.");
  }
  const bool taken = decided->boolean();
  out_->add(taken ? from_true : from_false);
  const Value& chosen = taken ? true_value : false_value;
  if (chosen.type() == *type) return chosen;
  const Outcome converted = convert(chosen, *type);
  if (converted) return *converted;
  return fail(branches, kInconsistent,
              fmt::format("The {} result value has the wrong type: {}.", taken ? "true" : "false", converted.error()));
}

Value Evaluator::aside(const Expr& expr, Diagnostics& out) {
  Diagnostics* const before = std::exchange(out_, &out);
  Value result = value(expr);
  out_ = before;
  return result;
}

// --- Constructors and loops (R-HCL-148 to 151) ---

Value Evaluator::tuple(const TupleExpr& tuple) {
  std::vector<Value> items;
  items.reserve(tuple.items.size());
  for (const Expr* item : tuple.items) items.push_back(value(*item));
  return bounded(Value::tuple(std::move(items)), tuple.range);
}

Value Evaluator::object(const ObjectExpr& object) {
  std::vector<Value::Member> members;
  members.reserve(object.items.size());
  bool known = true;
  for (const ObjectExpr::Item& item : object.items) {
    std::string key;
    const bool keyed = object_key(item, key, known);
    Value member = value(*item.value);
    if (keyed) members.push_back({std::move(key), std::move(member)});
  }
  if (!known) return Value::unknown();
  return bounded(Value::object(std::move(members)), object.range);
}

bool Evaluator::object_key(const ObjectExpr::Item& item, std::string& key, bool& known) {
  if (item.bare) {
    key = nfc(item.key->range.content());
    return true;
  }
  known = known && !item.ambiguous;
  if (item.ambiguous) {
    fail(item.key->range, "Ambiguous attribute key",
         "If this expression is intended to be a reference, wrap it in parentheses. If it's instead intended as a "
         "literal name containing periods, wrap it in quotes to create a string literal.");
    return false;
  }
  const Value found = value(*item.key);
  known = known && found.is_known() && !found.is_null();
  if (found.is_null()) {
    fail(item.value->range, "Null value as key", "Can't use a null value as a key.");
    return false;
  }
  if (!found.is_known()) return false;
  const Outcome text = to_string(found);
  if (!text) {
    fail(item.key->range, "Incorrect key type", fmt::format("Can't use this value as a key: {}.", text.error()));
    known = false;
    return false;
  }
  key = text->string();
  return true;
}

// False: null or not iterable (reported), or unknown.
bool Evaluator::iterable(const Value& collection, Range subject) {
  if (collection.is_null()) {
    fail(subject, "Iteration over null value", "A null value cannot be used as the collection in a 'for' expression.");
    return false;
  }
  if (!collection.is_known()) return false;
  if (collection.is_iterable()) return true;
  fail(subject, "Iteration over non-iterable value",
       fmt::format("A value of type {} cannot be used as the collection in a 'for' expression.",
                   collection.type().name()));
  return false;
}

// Runs `work` with the names of a loop bound.
template <class Work>
void Evaluator::with_names(std::string_view key_name, std::string_view value_name, Iteration pair, const Work& work) {
  const Scope* const outer = scope_;
  const Scope key_scope{outer, key_name, std::move(pair.key)};
  const Scope value_scope{key_name.empty() ? outer : &key_scope, value_name, std::move(pair.value)};
  scope_ = &value_scope;
  work();
  scope_ = outer;
}

// True if the loop's `if` clause keeps the pair; nullopt: failed and reported, or unknown (R-HCL-150).
std::optional<bool> Evaluator::passes(const Expr& condition) {
  const Value decider = value(condition);
  if (decider.is_null()) {
    fail(condition.range, "Condition is null", "The value of the 'if' clause must not be null.");
    return std::nullopt;
  }
  const Outcome decided = to_bool(decider);
  if (!decided) {
    fail(condition.range, "Invalid 'for' condition",
         fmt::format("The 'if' clause value is invalid: {}.", decided.error()));
    return std::nullopt;
  }
  if (!decided->is_known()) return std::nullopt;
  return decided->boolean();
}

Value Evaluator::for_loop(const ForExpr& loop) {
  const Value collection = value(*loop.collection);
  if (!iterable(collection, loop.collection->range)) return Value::unknown();
  if (loop.condition != nullptr) {
    // One pass with unknown values, so that a type error is reported once.
    const std::size_t before = out_->count();
    with_names(loop.key_name, loop.value_name, {Value::unknown(), Value::unknown()},
               [&] { (void)passes(*loop.condition); });
    if (out_->count() > before) return Value::unknown();
  }
  return loop.object ? for_object(loop, collection) : for_tuple(loop, collection);
}

Value Evaluator::for_tuple(const ForExpr& loop, const Value& collection) {
  std::vector<Value> items;
  bool known = true;
  for (std::size_t i = 0; i < iteration_count(collection); ++i) {
    if (!charge(kStepsPerRound)) return Value::unknown();
    with_names(loop.key_name, loop.value_name, iteration(collection, i), [&] {
      if (loop.condition != nullptr) {
        const std::optional<bool> stays = passes(*loop.condition);
        known = known && stays;
        if (!stays.value_or(false)) return;
      }
      items.push_back(value(*loop.value));
    });
  }
  if (!known) return Value::unknown();
  return bounded(Value::tuple(std::move(items)), loop.range);
}

Value Evaluator::for_object(const ForExpr& loop, const Value& collection) {
  struct Group {
    std::string key;
    std::vector<Value> values;
  };
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> position;
  bool known = true;
  const auto round = [&] {
    if (loop.condition != nullptr) {
      const std::optional<bool> stays = passes(*loop.condition);
      known = known && stays;
      if (!stays.value_or(false)) return;
    }
    const std::optional<std::string> key = for_key(*loop.key);
    if (!key) {
      known = false;
      return;
    }
    const auto [at, added] = position.try_emplace(*key, groups.size());
    if (added) groups.push_back({*key, {}});
    if (!added && !loop.groups) {
      fail(loop.key->range, "Duplicate object key",
           fmt::format("Two different items produced the key \"{}\" in this 'for' expression. If duplicates are "
                       "expected, use the ellipsis (...) after the value expression to enable grouping by key.",
                       *key));
      known = false;
      return;
    }
    groups[at->second].values.push_back(value(*loop.value));
  };
  for (std::size_t i = 0; i < iteration_count(collection); ++i) {
    if (!charge(kStepsPerRound)) return Value::unknown();
    with_names(loop.key_name, loop.value_name, iteration(collection, i), round);
  }
  if (!known) return Value::unknown();
  std::vector<Value::Member> members;
  members.reserve(groups.size());
  for (Group& group : groups) {
    members.push_back(
        {std::move(group.key), loop.groups ? Value::tuple(std::move(group.values)) : std::move(group.values.front())});
  }
  return bounded(Value::object(std::move(members)), loop.range);
}

std::optional<std::string> Evaluator::for_key(const Expr& expr) {
  constexpr std::string_view kInvalid = "Invalid object key";
  const Value key = value(expr);
  if (key.is_null()) {
    fail(expr.range, kInvalid, "Key expression in 'for' expression must not produce a null value.");
    return std::nullopt;
  }
  const Outcome text = to_string(key);
  if (!text) {
    fail(expr.range, kInvalid, fmt::format("The key expression produced an invalid result: {}.", text.error()));
    return std::nullopt;
  }
  if (!text->is_known()) return std::nullopt;
  return text->string();
}

// --- Templates (R-HCL-190 to 192) ---

Value Evaluator::string(const StringExpr& string) {
  if (string.wraps) return value(*string.parts.front());
  std::string text;
  bool known = true;
  for (const Expr* part : string.parts) {
    if (!charge(1)) return Value::unknown();
    known = append(value(*part), part->range, text) && known;
    if (text.size() > kMaxWeight) break;
  }
  if (!known) return Value::unknown(Kind::string);
  if (!charge(text.size() / kBytesPerStep)) return Value::unknown();
  return bounded(Value::of(std::string_view(text)), string.range);
}

bool Evaluator::append(const Value& part, Range subject, std::string& text) {
  constexpr std::string_view kInvalid = "Invalid template interpolation value";
  if (part.is_null()) {
    fail(subject, kInvalid, "The expression result is null. Cannot include a null value in a string template.");
    return false;
  }
  if (!part.is_known()) return false;
  const Outcome converted = to_string(part);
  if (!converted) {
    fail(subject, kInvalid, fmt::format("Cannot include the given value in a string template: {}.", converted.error()));
    return false;
  }
  text += converted->string();
  return true;
}

Value Evaluator::template_for(const TemplateForExpr& loop) {
  const Value collection = value(*loop.collection);
  if (!iterable(collection, loop.collection->range)) return Value::unknown(Kind::string);
  std::string text;
  bool known = true;
  for (std::size_t i = 0; i < iteration_count(collection); ++i) {
    if (!charge(kStepsPerRound) || text.size() > kMaxWeight) break;
    with_names(loop.key_name, loop.value_name, iteration(collection, i),
               [&] { known = append(value(*loop.body), loop.body->range, text) && known; });
  }
  if (!known) return Value::unknown(Kind::string);
  if (!charge(text.size() / kBytesPerStep)) return Value::unknown();
  return bounded(Value::of(std::string_view(text)), loop.range);
}

}  // namespace berth::hcl
