// The decoders' view of a body, independent of its syntax: native HCL, HCL JSON, or the result of a `dynamic` block
// (R-HCL-223 to 236, 330 to 335, 770).
//
//   Schema        what a decoder accepts: names of attributes, types of blocks with the names of their labels
//   Body          content(schema) returns a Content and reports everything that is not in the schema;
//                 partial(schema, rest) does not report it, but passes on the rest for a second schema
//   Content       attributes and blocks in source order; dynamic blocks are expanded in place
//   Expression    with the names in its scope; value() reports failures and returns unknown then (R-HCL-156)
//
// Bodies, expressions and ranges point into a Module (module.h), which outlives them. They are small: copy them.
//
//   Diagnostics& out = ...;
//   const Content content = body.content(kTaskSchema, out);        // R-HCL-230 to 234, 331 to 335 are reported here
//   if (const Attribute* driver = content.attribute("driver")) {
//     const Value value = driver->expression.value(out);           // R-HCL-140 to 156 are reported here
//     if (auto text = to_string(value); !text) out.add(driver->expression.start(), "Unsuitable value type", ...);
//   }
//   for (const Block& block : content.blocks) if (block.type == "service") ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hcl/source.h"
#include "hcl/value.h"

namespace berth::hcl {

struct Expr;        // ast.h
struct NativeBody;  // ast.h
struct JsonNode;    // json_syntax.h
struct Scope;       // evaluate.h
struct Context;     // evaluate.h

class Expression {
 public:
  Expression(const Expr& expr, const Scope* scope, const Context& context)
      : expr_(&expr), scope_(scope), context_(&context) {}

  /// Reports failures; a failed expression is unknown. Parts of a value may be unknown too.
  [[nodiscard]] Value value(Diagnostics& out) const;
  [[nodiscard]] Range range() const;  ///< the whole expression
  [[nodiscard]] Range start() const;  ///< the subject of conversion errors (R-HCL-240)
  /// Written as `{...}` in native syntax, which free-form and map blocks wrap into a list (R-HCL-365).
  [[nodiscard]] bool is_object_constructor() const;
  /// The expression itself instead of its value, for types and names of iterators. A string of a JSON file is parsed
  /// (R-HCL-771). Null: failed and reported.
  [[nodiscard]] const Expr* written(Diagnostics& out) const;
  [[nodiscard]] const Expr& expr() const { return *expr_; }
  [[nodiscard]] const Scope* scope() const { return scope_; }
  [[nodiscard]] const Context& context() const { return *context_; }

 private:
  const Expr* expr_;
  const Scope* scope_;
  const Context* context_;
};

struct Attribute {
  std::string name;
  Range name_range;
  Range range;  ///< name to end of the expression
  Expression expression;
};

struct AttributeSchema {
  std::string name;
  bool required = false;
};
struct BlockSchema {
  std::string type;
  std::vector<std::string> labels;  ///< their names in error texts; a name may be empty (R-HCL-230)
};
struct Schema {
  std::vector<AttributeSchema> attributes;
  std::vector<BlockSchema> blocks;
  bool dynamic = true;  ///< false at the root of a file (R-HCL-220)
};

struct Block;
struct Content;

class Body {
 public:
  Body(const NativeBody& body, const Scope* scope, const Context& context)
      : native_(&body), scope_(scope), context_(&context) {}
  Body(const JsonNode& object, const Scope* scope, const Context& context)
      : json_(&object), scope_(scope), context_(&context) {}

  /// Reads by the schema. Everything else is reported, but the content is returned anyway (R-HCL-705). An attribute or
  /// block with a known name but a wrong form (labels) is left out.
  [[nodiscard]] Content content(const Schema& schema, Diagnostics& out) const;
  /// Reads by the schema and leaves everything else to `rest`. Suggestions ("Did you mean") of `rest` include the names
  /// already read (R-HCL-235).
  [[nodiscard]] Content partial(const Schema& schema, Diagnostics& out, Body& rest) const;
  /// All attributes and blocks as written, without expanding `dynamic`: for free-form and map blocks (R-HCL-360, 363).
  /// A JSON body has only attributes.
  [[nodiscard]] Content everything(Diagnostics& out) const;
  /// Subject of "Missing required argument": the empty range at the body's opening brace (R-HCL-234).
  [[nodiscard]] Range missing_range() const;
  /// The same body with one more name bound.
  [[nodiscard]] Body within(const Scope* scope) const;

 private:
  Content read(const Schema& schema, Diagnostics& out, bool partly) const;

  const NativeBody* native_ = nullptr;
  const JsonNode* json_ = nullptr;
  const Scope* scope_;
  const Context* context_;
  std::vector<std::string> taken_attributes_;  // by partial()
  std::vector<std::string> taken_blocks_;
};

struct Block {
  std::string type;
  std::vector<std::string> labels;
  Range type_range;                 ///< subject of most errors about a block
  std::vector<Range> label_ranges;  ///< as many as labels
  Range header;                     ///< type to last label: "Another was defined at" (R-HCL-225, 411)
  Range open;                       ///< the opening brace
  Body body;
};

struct Content {
  std::vector<Attribute> attributes;
  std::vector<Block> blocks;
  Range missing_range;  ///< of the body

  [[nodiscard]] const Attribute* attribute(std::string_view name) const;
};

}  // namespace berth::hcl
