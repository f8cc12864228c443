// Bodies in JSON: the schema says whether a property is an attribute or blocks (R-HCL-770 to 774).
#include <algorithm>

#include <fmt/format.h>

#include "hcl/body_reader.h"

namespace berth::hcl {
namespace {

constexpr std::string_view kComment = "//";
constexpr std::string_view kIncorrect = "Incorrect JSON value type";

bool is_taken(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Collects the object itself, or the objects of an array; false: there is something else.
bool objects_of(const JsonNode& node, std::vector<const JsonNode*>& out) {
  if (node.kind == JsonNode::Kind::object) {
    out.push_back(&node);
    return true;
  }
  if (node.kind != JsonNode::Kind::array) return false;
  for (const JsonNode& item : node.items) {
    if (item.kind != JsonNode::Kind::object) return false;
    out.push_back(&item);
  }
  return true;
}

}  // namespace

void BodyReader::all_properties(const JsonNode& object, const Scope* scope, const Context& context, Content& content,
                                Diagnostics& out) {
  if (object.kind != JsonNode::Kind::object) {
    out.add(object.range, kIncorrect, "A JSON object is required here, setting the arguments for this block.");
    return;
  }
  for (const JsonProperty& property : object.members) {
    if (property.name == kComment) continue;
    content.attributes.push_back(
        {property.name, property.name_range, property.range(),
         Expression(json_expression(property.value, *context.workspace, out), scope, context)});
  }
}

void BodyReader::read(const JsonNode& object) {
  if (object.kind != JsonNode::Kind::object) {
    out_.add(object.range, kIncorrect, "A JSON object is required here, setting the arguments for this block.");
    return;
  }
  for (const JsonProperty& property : object.members) {
    if (property.name == kComment || is_taken(request_.taken_attributes, property.name) ||
        is_taken(request_.taken_blocks, property.name)) {
      continue;
    }
    if (has_attribute(property.name)) {
      json_attribute(property);
    } else if (const BlockSchema* wanted = block_schema(property.name)) {
      const Block whole{property.name,
                        {},
                        property.name_range,
                        {},
                        property.name_range,
                        property.value.range,
                        Body(property.value, scope_, context_)};
      json_blocks(property.value, *wanted, whole);
    } else if (property.name == "dynamic" && request_.schema.dynamic) {
      json_dynamic(property.value, property.name_range);
    } else if (!request_.partly) {
      unsupported_property(property);
    }
  }
}

void BodyReader::json_attribute(const JsonProperty& property) {
  if (const Attribute* before = content_.attribute(property.name)) {
    out_.add(property.name_range, "Duplicate argument",
             fmt::format("The argument \"{}\" was already set at {}.", property.name, before->range.text()));
    return;
  }
  content_.attributes.push_back(
      {property.name, property.name_range, property.range(),
       Expression(json_expression(property.value, *context_.workspace, out_), scope_, context_)});
}

// One level of objects for each label, then one object per block; arrays repeat at every level.
void BodyReader::json_blocks(const JsonNode& node, const BlockSchema& wanted, const Block& so_far) {
  const std::size_t level = so_far.labels.size();
  if (level == wanted.labels.size() && node.kind == JsonNode::Kind::null) return;
  std::vector<const JsonNode*> objects;
  if (!objects_of(node, objects)) {
    out_.add(
        node.range, kIncorrect,
        level < wanted.labels.size()
            ? fmt::format("Either a JSON object or JSON array of objects is required here, to specify {} labels for "
                          "this block.",
                          wanted.labels[level])
            : fmt::format("Either a JSON object or a JSON array is required, representing the contents of one or "
                          "more \"{}\" blocks.",
                          wanted.type));
    return;
  }
  for (const JsonNode* object : objects) {
    if (level == wanted.labels.size()) {
      Block block = so_far;
      block.open = {object->range.source, object->range.begin, object->range.begin + 1};
      block.body = Body(*object, scope_, context_);
      content_.blocks.push_back(std::move(block));
      continue;
    }
    for (const JsonProperty& label : object->members) {
      Block labelled = so_far;
      labelled.labels.push_back(label.name);
      labelled.label_ranges.push_back(label.name_range);
      json_blocks(label.value, wanted, labelled);
    }
  }
}

void BodyReader::json_dynamic(const JsonNode& types, Range type_range) {
  std::vector<const JsonNode*> objects;
  if (!objects_of(types, objects)) {
    out_.add(types.range, kIncorrect,
             "Either a JSON object or JSON array of objects is required here, to specify type labels for this block.");
    return;
  }
  for (const JsonNode* object : objects) {
    for (const JsonProperty& type : object->members) {
      if (is_taken(request_.taken_blocks, type.name)) continue;
      std::vector<const JsonNode*> bodies;
      if (!objects_of(type.value, bodies)) {
        out_.add(type.value.range, kIncorrect,
                 "Either a JSON object or a JSON array is required, representing the contents of one or more "
                 "\"dynamic\" blocks.");
        continue;
      }
      for (const JsonNode* body : bodies) {
        dynamic(Body(*body, scope_, context_), type.name, type.name_range, type_range);
      }
    }
  }
}

void BodyReader::unsupported_property(const JsonProperty& property) {
  std::vector<std::string> candidates;
  for (const AttributeSchema& known : request_.schema.attributes) candidates.push_back(known.name);
  for (const BlockSchema& known : request_.schema.blocks) candidates.push_back(known.type);
  std::sort(candidates.begin(), candidates.end());
  const std::string_view meant = suggestion(property.name, candidates);
  out_.add(property.name_range, "Extraneous JSON object property",
           fmt::format("No argument or block type is named \"{}\".{}", property.name,
                       meant.empty() ? "" : fmt::format(" Did you mean \"{}\"?", meant)));
}

}  // namespace berth::hcl
