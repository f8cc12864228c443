// Reads one body by a schema: the implementation of Body::content. Native bodies and dynamic blocks are in body.cc,
// JSON in body_json.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hcl/ast.h"
#include "hcl/body.h"
#include "hcl/evaluate.h"
#include "hcl/json_syntax.h"

namespace berth::hcl {

class BodyReader {
 public:
  struct Request {
    const Schema& schema;
    const std::vector<std::string>& taken_attributes;
    const std::vector<std::string>& taken_blocks;
    bool partly;  // ignore what is not in the schema
  };
  BodyReader(const Request& request, const Scope* scope, const Context& context, Content& content, Diagnostics& out)
      : request_(request), scope_(scope), context_(context), content_(content), out_(out) {}

  void read(const NativeBody& body);
  void read(const JsonNode& object);

  static Attribute attribute(const NativeAttribute& attribute, const Scope* scope, const Context& context);
  static Block block(const NativeBlock& block, const Scope* scope, const Context& context);
  static void all_properties(const JsonNode& object, const Scope* scope, const Context& context, Content& content,
                             Diagnostics& out);

 private:
  static constexpr std::uint64_t kStepsPerBlock = 16;  // a generated block takes some 300 bytes

  // Common parts of the blocks that one dynamic block makes.
  struct Generator {
    const BlockSchema& wanted;
    Range header;
    Range type_range;
    std::string_view iterator;
    const Block* content = nullptr;
    std::vector<const Expr*> labels;
  };

  [[nodiscard]] const BlockSchema* block_schema(std::string_view type) const;
  [[nodiscard]] bool has_attribute(std::string_view name) const;
  void unsupported_attribute(const NativeBody& body, const NativeAttribute& found);
  void unsupported_block(const NativeBlock& found);
  bool labels_fit(const NativeBlock& found, const BlockSchema& wanted);

  void dynamic(const NativeBlock& found);
  void dynamic(const Body& body, const std::string& type, Range type_range, Range header);
  bool iterator_name(const Content& parts, Generator& generator);
  bool label_expressions(const Content& parts, Generator& generator);
  void generate(const Content& parts, Generator& generator);
  void generate_one(const Generator& generator, const Scope* scope);

  void json_attribute(const JsonProperty& property);
  void json_blocks(const JsonNode& node, const BlockSchema& wanted, const Block& so_far);
  void json_dynamic(const JsonNode& types, Range type_range);
  void unsupported_property(const JsonProperty& property);

  const Request& request_;
  const Scope* scope_;
  const Context& context_;
  Content& content_;
  Diagnostics& out_;
  std::optional<std::vector<std::string>> unset_;  // attributes of the schema that the body does not set, ascending
};

}  // namespace berth::hcl
