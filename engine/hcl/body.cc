#include "hcl/body.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "hcl/body_reader.h"
#include "hcl/parser.h"

namespace berth::hcl {

Value Expression::value(Diagnostics& out) const { return evaluate(*expr_, *context_, scope_, out); }
Range Expression::range() const { return expr_->range; }
Range Expression::start() const { return start_of(*expr_); }
bool Expression::is_object_constructor() const {
  return expr_->kind == Expr::Kind::object && !static_cast<const ObjectExpr*>(expr_)->json;
}

const Expr* Expression::written(Diagnostics& out) const {
  if (expr_->kind != Expr::Kind::parentheses) return expr_;
  const std::string* json = static_cast<const ParenthesesExpr*>(expr_)->json;
  if (json == nullptr) return expr_;
  Workspace& workspace = *context_->workspace;
  const Range at = expr_->range;
  Position inside = at.source->position(at.begin);
  ++inside.column;  // after the quote
  workspace.sources.emplace_back(at.source->name(), *json, inside);
  return parse_expression(workspace.sources.back(), workspace.tree, out);
}

const Attribute* Content::attribute(std::string_view name) const {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

Body Body::within(const Scope* scope) const {
  Body body = *this;
  body.scope_ = scope;
  return body;
}

Range Body::missing_range() const { return (native_ != nullptr ? native_->open : json_->range).start(); }

Content Body::content(const Schema& schema, Diagnostics& out) const { return read(schema, out, false); }

Content Body::partial(const Schema& schema, Diagnostics& out, Body& rest) const {
  Content content = read(schema, out, true);
  rest = *this;
  for (const AttributeSchema& attribute : schema.attributes) rest.taken_attributes_.push_back(attribute.name);
  for (const BlockSchema& block : schema.blocks) rest.taken_blocks_.push_back(block.type);
  return content;
}

Content Body::read(const Schema& schema, Diagnostics& out, bool partly) const {
  Content content;
  content.missing_range = missing_range();
  const BodyReader::Request request{schema, taken_attributes_, taken_blocks_, partly};
  BodyReader reader(request, scope_, *context_, content, out);
  if (native_ != nullptr) {
    reader.read(*native_);
  } else {
    reader.read(*json_);
  }
  for (const AttributeSchema& wanted : schema.attributes) {
    if (wanted.required && content.attribute(wanted.name) == nullptr) {
      out.add(content.missing_range, "Missing required argument",
              fmt::format("The argument \"{}\" is required, but no definition was found.", wanted.name));
    }
  }
  return content;
}

Content Body::everything(Diagnostics& out) const {
  Content content;
  content.missing_range = missing_range();
  if (json_ != nullptr) {
    BodyReader::all_properties(*json_, scope_, *context_, content, out);
    return content;
  }
  for (const NativeAttribute& attribute : native_->attributes) {
    content.attributes.push_back(BodyReader::attribute(attribute, scope_, *context_));
  }
  for (const NativeBlock& block : native_->blocks) {
    content.blocks.push_back(BodyReader::block(block, scope_, *context_));
  }
  return content;
}

// --- BodyReader ---

namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Attribute BodyReader::attribute(const NativeAttribute& attribute, const Scope* scope, const Context& context) {
  return {attribute.name, attribute.name_range, attribute.range, Expression(*attribute.expr, scope, context)};
}

Block BodyReader::block(const NativeBlock& block, const Scope* scope, const Context& context) {
  return {block.type,
          block.labels,
          block.type_range,
          block.label_ranges,
          block.header(),
          block.body.open,
          Body(block.body, scope, context)};
}

const BlockSchema* BodyReader::block_schema(std::string_view type) const {
  for (const BlockSchema& block : request_.schema.blocks) {
    if (block.type == type) return &block;
  }
  return nullptr;
}

bool BodyReader::has_attribute(std::string_view name) const {
  return std::any_of(request_.schema.attributes.begin(), request_.schema.attributes.end(),
                     [&](const AttributeSchema& known) { return known.name == name; });
}

void BodyReader::read(const NativeBody& body) {
  for (const NativeAttribute& found : body.attributes) {
    if (contains(request_.taken_attributes, found.name)) continue;
    if (has_attribute(found.name)) {
      content_.attributes.push_back(attribute(found, scope_, context_));
    } else if (!request_.partly) {
      unsupported_attribute(body, found);
    }
  }
  for (const NativeBlock& found : body.blocks) {
    if (contains(request_.taken_blocks, found.type)) continue;
    const BlockSchema* wanted = block_schema(found.type);
    if (wanted != nullptr) {
      if (labels_fit(found, *wanted)) content_.blocks.push_back(block(found, scope_, context_));
    } else if (found.type == "dynamic" && request_.schema.dynamic) {
      dynamic(found);
    } else if (!request_.partly) {
      unsupported_block(found);
    }
  }
}

void BodyReader::unsupported_attribute(const NativeBody& body, const NativeAttribute& found) {
  if (!unset_) {
    std::unordered_set<std::string_view> set;
    for (const NativeAttribute& attribute : body.attributes) set.insert(attribute.name);
    unset_.emplace();
    for (const AttributeSchema& known : request_.schema.attributes) {
      if (!set.contains(known.name)) unset_->push_back(known.name);
    }
    std::sort(unset_->begin(), unset_->end());
  }
  std::string hint;
  if (const auto meant = suggestion(found.name, *unset_); !meant.empty()) {
    hint = fmt::format(" Did you mean \"{}\"?", meant);
  } else if (block_schema(found.name) != nullptr) {
    hint = fmt::format(" Did you mean to define a block of type \"{}\"?", found.name);
  }
  out_.add(found.name_range, "Unsupported argument",
           fmt::format("An argument named \"{}\" is not expected here.{}", found.name, hint));
}

void BodyReader::unsupported_block(const NativeBlock& found) {
  std::vector<std::string> candidates;
  for (const BlockSchema& known : request_.schema.blocks) candidates.push_back(known.type);
  std::sort(candidates.begin(), candidates.end());
  if (request_.schema.dynamic) candidates.emplace_back("dynamic");
  candidates.insert(candidates.end(), request_.taken_blocks.begin(), request_.taken_blocks.end());
  std::string hint;
  if (const auto meant = suggestion(found.type, candidates); !meant.empty()) {
    hint = fmt::format(" Did you mean \"{}\"?", meant);
  } else if (has_attribute(found.type)) {
    hint = fmt::format(" Did you mean to define argument \"{}\"? If so, use the equals sign to assign it a value.",
                       found.type);
  }
  out_.add(found.type_range, "Unsupported block type",
           fmt::format("Blocks of type \"{}\" are not expected here.{}", found.type, hint));
}

bool BodyReader::labels_fit(const NativeBlock& found, const BlockSchema& wanted) {
  const std::size_t count = wanted.labels.size();
  std::string names;
  for (const std::string& name : wanted.labels) names += (names.empty() ? "" : ", ") + name;
  if (found.labels.size() < count) {
    out_.add(found.body.open, fmt::format("Missing {} for {}", wanted.labels[found.labels.size()], found.type),
             fmt::format("All {} blocks must have {} labels ({}).", found.type, count, names));
    return false;
  }
  if (found.labels.size() > count) {
    out_.add(found.label_ranges[count], fmt::format("Extraneous label for {}", found.type),
             count == 0 ? fmt::format("No labels are expected for {} blocks.", found.type)
                        : fmt::format("Only {} labels ({}) are expected for {} blocks.", count, names, found.type));
    return false;
  }
  return true;
}

// --- Dynamic blocks (R-HCL-330 to 335) ---

void BodyReader::dynamic(const NativeBlock& found) {
  static const BlockSchema kDynamic{"dynamic", {"type"}};
  if (!labels_fit(found, kDynamic)) return;
  const std::string& type = found.labels.front();
  if (contains(request_.taken_blocks, type)) return;
  dynamic(Body(found.body, scope_, context_), type, found.label_ranges.front(), found.header());
}

void BodyReader::dynamic(const Body& body, const std::string& type, Range type_range, Range header) {
  const BlockSchema* wanted = block_schema(type);
  if (wanted == nullptr) {
    if (request_.partly) return;
    out_.add(type_range, "Unsupported block type", fmt::format("Blocks of type \"{}\" are not expected here.", type));
    return;
  }
  Schema schema{{{"for_each", true}, {"iterator"}}, {{"content", {}}}, false};
  if (!wanted->labels.empty()) schema.attributes.push_back({"labels", true});
  const std::size_t before = out_.count();
  const Content parts = body.content(schema, out_);
  if (out_.count() > before) return;
  if (parts.blocks.empty()) {
    out_.add(parts.missing_range, "Missing dynamic content block",
             "A dynamic block must have a nested block of type \"content\" to describe the body of each generated "
             "block.");
    return;
  }
  if (parts.blocks.size() > 1) {
    out_.add(parts.blocks[1].type_range, "Extraneous dynamic content block",
             "Only one nested content block is allowed for each dynamic block.");
    return;
  }
  Generator generator{*wanted, header, type_range, type, &parts.blocks.front(), {}};
  generate(parts, generator);
}

bool BodyReader::iterator_name(const Content& parts, Generator& generator) {
  const Attribute* iterator = parts.attribute("iterator");
  if (iterator == nullptr) return true;
  const Expr* written = iterator->expression.written(out_);
  if (written == nullptr) return false;
  const Expr& expr = *written;
  if (expr.kind != Expr::Kind::reference) {
    out_.add(
        expr.range, "Invalid expression",
        "A single static variable reference is required: only attribute access and indexing with constant keys. No "
        "calculations, function calls, template expressions, etc are allowed here.");
    return false;
  }
  const auto& reference = static_cast<const ReferenceExpr&>(expr);
  if (!reference.steps.empty()) {
    out_.add(expr.range, "Invalid dynamic iterator name", "Dynamic iterator must be a single variable name.");
    return false;
  }
  generator.iterator = reference.name;
  return true;
}

bool BodyReader::label_expressions(const Content& parts, Generator& generator) {
  const Attribute* labels = parts.attribute("labels");
  if (labels == nullptr) return true;
  const Expr& expr = labels->expression.expr();
  if (expr.kind != Expr::Kind::tuple) {
    out_.add(expr.range, "Invalid expression", "A static list expression is required.");
    return false;
  }
  generator.labels = static_cast<const TupleExpr&>(expr).items;
  const std::size_t count = generator.wanted.labels.size();
  if (generator.labels.size() == count) return true;
  const bool more = generator.labels.size() > count;
  out_.add(more ? generator.labels[count]->range : expr.range,
           more ? "Extraneous dynamic block label" : "Insufficient dynamic block labels",
           fmt::format("Blocks of type \"{}\" require {} label(s).", generator.wanted.type, count));
  return false;
}

void BodyReader::generate(const Content& parts, Generator& generator) {
  if (!iterator_name(parts, generator) || !label_expressions(parts, generator)) return;
  const Expression& for_each = parts.attribute("for_each")->expression;
  const Value collection = for_each.value(out_);
  constexpr std::string_view kInvalid = "Invalid dynamic for_each value";
  if (collection.is_null()) {
    out_.add(for_each.range(), kInvalid, "Cannot use a null value in for_each.");
    return;
  }
  if (!collection.is_known()) return;
  if (!collection.is_iterable()) {
    out_.add(for_each.range(), kInvalid,
             fmt::format("Cannot use a {} value in for_each. An iterable collection is required.",
                         collection.type().name()));
    return;
  }
  Budget& budget = context_.workspace->budget;
  for (std::size_t i = 0; i < iteration_count(collection); ++i) {
    if (!budget.charge(kStepsPerBlock)) {
      if (budget.report()) out_.add(for_each.range(), "Evaluation too long", Budget::kSpent);
      return;
    }
    Iteration pair = iteration(collection, i);
    Value iterator = Value::object({{"key", std::move(pair.key)}, {"value", std::move(pair.value)}});
    context_.workspace->scopes.push_back({scope_, generator.iterator, std::move(iterator)});
    generate_one(generator, &context_.workspace->scopes.back());
  }
}

void BodyReader::generate_one(const Generator& generator, const Scope* scope) {
  Block made{generator.wanted.type,
             {},
             generator.type_range,
             {},
             generator.header,
             generator.content->open,
             generator.content->body.within(scope)};
  constexpr std::string_view kInvalid = "Invalid dynamic block label";
  for (const Expr* label : generator.labels) {
    const Value value = evaluate(*label, context_, scope, out_);
    if (value.is_null()) {
      out_.add(label->range, kInvalid, "Cannot use a null value as a dynamic block label.");
      return;
    }
    const Outcome text = to_string(value);
    if (!text) {
      out_.add(label->range, kInvalid,
               fmt::format("Cannot use this value as a dynamic block label: {}.", text.error()));
      return;
    }
    if (!text->is_known()) return;
    made.labels.push_back(text->string());
    made.label_ranges.push_back(label->range);
  }
  content_.blocks.push_back(std::move(made));
}

}  // namespace berth::hcl
