// Trees of native HCL: expressions, attributes and blocks. A Tree owns its nodes in a flat list, so destroying one
// needs no recursion. Operators of one level and steps are lists, so long chains are not deep. kMaxNesting bounds the
// nesting of everything else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hcl/lexer.h"
#include "hcl/source.h"
#include "hcl/value.h"

namespace berth::hcl {

/// Deepest nesting of brackets, blocks, conditionals, unary operators, splats and template directives together. The
/// parser and the evaluator recurse this deep (R-HCL-794).
inline constexpr int kMaxNesting = 1000;

struct Expr {
  enum class Kind : std::uint8_t {
    literal,
    reference,
    steps,
    call,
    unary,
    operation,
    conditional,
    tuple,
    object,
    for_loop,
    parentheses,
    string,
    template_if,
    template_for,
  };
  Expr(Kind k, Range r) : kind(k), range(r) {}
  virtual ~Expr() = default;
  Expr(const Expr&) = delete;
  Expr& operator=(const Expr&) = delete;

  Kind kind;
  Range range;
};

/// A number, true, false or null; in a template a piece of text.
struct LiteralExpr : Expr {
  LiteralExpr(Range r, Value v) : Expr(Kind::literal, r), value(std::move(v)) {}
  Value value;
  bool keyword = false;  ///< written as an identifier: a bare key is a name (R-HCL-54)
};

/// A step after a term: `.name`, `[key]`, a splat.
struct Step {
  enum class Kind : std::uint8_t {
    attribute,
    constant_index,  // `[0]`, `["a"]`, `.0`
    index,
    splat,            // `[*]`: for all steps that follow
    attribute_splat,  // `.*`: for the steps before `splat_end`
  };
  Kind kind;
  Range range;       ///< from the dot or bracket to the end of the step
  Range open;        ///< the opening bracket of an index
  std::string name;  ///< of an attribute
  Value key;         ///< of a constant index
  const Expr* index = nullptr;
  std::size_t splat_end = 0;  ///< position among the steps
};

/// A name with the constant steps that follow it (R-HCL-310).
struct ReferenceExpr : Expr {
  ReferenceExpr(Range r, std::string n) : Expr(Kind::reference, r), name(std::move(n)), name_range(r) {}
  std::string name;
  Range name_range;
  std::vector<Step> steps;
};

struct StepsExpr : Expr {
  StepsExpr(Range r, const Expr& s) : Expr(Kind::steps, r), source(&s) {}
  const Expr* source;
  std::vector<Step> steps;
};

struct CallExpr : Expr {
  explicit CallExpr(Range r) : Expr(Kind::call, r) {}
  std::string name;  ///< with its namespace, "a::b"
  Range name_range;
  Range open, close;  ///< parentheses
  std::vector<const Expr*> arguments;
  bool expands_last = false;
};

struct UnaryExpr : Expr {
  UnaryExpr(Range r, TokenKind o, Range at, const Expr& x) : Expr(Kind::unary, r), op(o), op_range(at), operand(&x) {}
  TokenKind op;
  Range op_range;
  const Expr* operand;
};

/// `first (op operand)...`: operators of one level, from the left.
struct OperationExpr : Expr {
  OperationExpr(Range r, const Expr& f) : Expr(Kind::operation, r), first(&f) {}
  const Expr* first;
  std::vector<std::pair<TokenKind, const Expr*>> rest;
};

struct ConditionalExpr : Expr {
  ConditionalExpr(Range r, const Expr& c, const Expr& t, const Expr& f)
      : Expr(Kind::conditional, r), condition(&c), if_true(&t), if_false(&f) {}
  const Expr *condition, *if_true, *if_false;
};

struct TupleExpr : Expr {
  explicit TupleExpr(Range r) : Expr(Kind::tuple, r) {}
  Range open;
  std::vector<const Expr*> items;
};

struct ObjectExpr : Expr {
  explicit ObjectExpr(Range r) : Expr(Kind::object, r) {}
  Range open;
  bool json = false;  ///< an object of a JSON file
  struct Item {
    const Expr* key;
    const Expr* value;
    bool bare = false;       ///< the key is its name (R-HCL-54)
    bool ambiguous = false;  ///< the key is a bare reference with steps
  };
  std::vector<Item> items;
};

/// `[for ...]` or `{for ...}`.
struct ForExpr : Expr {
  explicit ForExpr(Range r) : Expr(Kind::for_loop, r) {}
  Range open;
  std::string key_name;  ///< empty: one name only
  std::string value_name;
  const Expr* collection = nullptr;
  const Expr* key = nullptr;  ///< of an object
  const Expr* value = nullptr;
  const Expr* condition = nullptr;
  bool object = false;
  bool groups = false;
};

struct ParenthesesExpr : Expr {
  ParenthesesExpr(Range r, const Expr& x) : Expr(Kind::parentheses, r), inner(&x) {}
  const Expr* inner;
  const std::string* json = nullptr;  ///< the decoded text of a string of a JSON file; null: none
};

/// A quoted template or heredoc: pieces of text and expressions.
struct StringExpr : Expr {
  explicit StringExpr(Range r) : Expr(Kind::string, r) {}
  std::vector<const Expr*> parts;
  /// True for one interpolation and nothing else: the result is the value itself (R-HCL-191).
  bool wraps = false;
};

struct TemplateIfExpr : Expr {
  explicit TemplateIfExpr(Range r) : Expr(Kind::template_if, r) {}
  const Expr* condition = nullptr;
  const Expr* if_true = nullptr;  ///< StringExpr, also below
  const Expr* if_false = nullptr;
};

struct TemplateForExpr : Expr {
  explicit TemplateForExpr(Range r) : Expr(Kind::template_for, r) {}
  std::string key_name, value_name;
  const Expr* collection = nullptr;
  const Expr* body = nullptr;
};

/// Subject of conversion errors about an expression (R-HCL-240).
[[nodiscard]] Range start_of(const Expr& expr);

struct NativeAttribute {
  std::string name;
  Range name_range;
  Range range;
  const Expr* expr;
};

struct NativeBlock;

/// Attributes and blocks in source order.
struct NativeBody {
  std::vector<NativeAttribute> attributes;
  std::vector<NativeBlock> blocks;
  Range open;  ///< the opening brace; for a file: its start
};

struct NativeBlock {
  std::string type;
  Range type_range;
  std::vector<std::string> labels;
  std::vector<Range> label_ranges;
  NativeBody body;

  [[nodiscard]] Range header() const;  ///< type to last label
};

/// Owns the nodes of one or more trees.
class Tree {
 public:
  template <class T, class... Arguments>
  T& make(Arguments&&... arguments) {
    auto node = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T& made = *node;
    nodes_.push_back(std::move(node));
    return made;
  }

 private:
  std::vector<std::unique_ptr<Expr>> nodes_;
};

}  // namespace berth::hcl
