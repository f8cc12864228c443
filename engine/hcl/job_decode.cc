// Phase d: decodes the body of a job block by the field tables; a few blocks need code of their own (R-HCL-403 to 415).
// Free-form blocks (phase e) are evaluated on the way. Their diagnostics are collected separately and reported only if
// phase d has none, which is the meaning of "last" (R-HCL-366).
#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

#include "hcl/attribute_value.h"
#include "hcl/job_file.h"
#include "hcl/job_finish.h"
#include "hcl/job_tables.h"

namespace berth::hcl {
namespace {

/// A short form of a constraint: the attribute's name is the operand, its value becomes one of the targets.
struct ShortForm {
  const char* name;
  bool boolean = false;
  bool left = false;
};
constexpr std::array<ShortForm, 6> kConstraintForms = {{{"version"},
                                                        {"semver"},
                                                        {"regexp"},
                                                        {"set_contains"},
                                                        {"distinct_hosts", true},
                                                        {"distinct_property", false, true}}};
constexpr std::array<ShortForm, 6> kAffinityForms = {
    {{"version"}, {"semver"}, {"regexp"}, {"set_contains_any"}, {"set_contains_all"}, {"set_contains"}}};

Schema schema_of(std::initializer_list<const char*> attributes) {
  Schema schema;
  for (const char* name : attributes) schema.attributes.push_back({name});
  return schema;
}

class Decoder {
 public:
  /// The job's object; failures go to out() and late().
  json::Value job(const Block& block) {
    const Table& table = job_table("job");
    json::Value meta;
    Range meta_range;
    Body rest = block.body;
    {
      Schema schema = schema_of({"meta"});
      schema.blocks = {{"vault", {}}, {"secret", {"name"}}, {"task", {"name"}}};
      Content taken = block.body.partial(schema, out_, rest);
      take_map_attribute(taken, "meta", meta, meta_range, out_);
      take_vault_and_secrets(taken, job_.vault, job_.secrets, true, out_);
      for (const Block& task_block : taken.blocks) {
        if (task_block.type != "task") continue;
        json::Object group = job_table("group").unset;
        json::Value tasks = json::Value::array();
        tasks.push(task(task_block));
        group[job_table("group").label_place].value = task_block.labels[0];
        group[job_table("group").place_of("Tasks")].value = std::move(tasks);
        job_.lone_tasks.push_back({std::move(group), nullptr, nullptr});
      }
    }
    const Content content = rest.content(table.schema, out_);
    json::Value object = fill(table, content, out_);
    put_map(object, content, table, "meta", meta, meta_range, out_);
    return object;
  }

  json::Value run(const Block& block) {
    json::Value object = job(block);
    job_.label = block.labels[0];
    if (!out_.empty() || !late_.empty()) return object;
    finish_job(object, std::move(job_));
    return object;
  }

  [[nodiscard]] const Diagnostics& out() const { return out_; }
  [[nodiscard]] const Diagnostics& late() const { return late_; }

 private:
  /// Reads `name = {...}` where a block of that name is usual (R-HCL-362).
  void take_map_attribute(const Content& content, std::string_view name, json::Value& value, Range& range,
                          Diagnostics& out) {
    if (const Attribute* attribute = content.attribute(name)) {
      value = string_map_value(attribute->expression, out);
      range = attribute->range;
    }
  }

  /// Puts the attribute form into the object; an additional block is an error.
  void put_map(json::Value& object, const Content& content, const Table& table, std::string_view name,
               json::Value& value, const Range& range, Diagnostics& out) {
    if (range.source == nullptr) return;
    for (const Block& block : content.blocks) {
      if (block.type != name) continue;
      out.add(block.type_range, "Duplicate " + std::string(name) + " block",
              std::string(name) + " may not be defined more than once. Another definition is defined at " +
                  range.text() + ".");
      return;
    }
    for (const BlockField& field : table.blocks) {
      if (field.type == name) object.members()[field.place].value = std::move(value);
    }
  }

  void take_vault_and_secrets(const Content& content, json::Value& vault, json::Value& secrets, bool once,
                              Diagnostics& out) {
    const Block* first = nullptr;
    for (const Block& block : content.blocks) {
      if (block.type == "secret") {
        if (secrets.is_null()) secrets = json::Value::array();
        secrets.push(labelled(job_table("secret"), block, out));
      } else if (block.type == "vault") {
        if (once && first != nullptr) {
          out.add(
              block.header, "Duplicate vault block",
              "Only one block of type \"vault\" is allowed. Previous definition was at " + first->header.text() + ".");
          continue;
        }
        if (first == nullptr) first = &block;
        vault = labelled(job_table("vault"), block, out);
      }
    }
  }

  json::Value group(const Block& block) {
    const Table& table = job_table("group");
    Schema schema = schema_of({"meta"});
    schema.blocks = {{"vault", {}}, {"secret", {"name"}}};
    Body rest = block.body;
    json::Value meta;
    Range meta_range;
    Diagnostics own;
    const Content taken = block.body.partial(schema, own, rest);
    take_map_attribute(taken, "meta", meta, meta_range, own);
    json::Value vault;
    json::Value secrets;
    if (!own.empty()) {  // then the rest of the group is ignored (R-HCL-412)
      out_.add(own);
      return table.unset;
    }
    Diagnostics swallowed;
    take_vault_and_secrets(taken, vault, secrets, false, swallowed);
    const Content content = rest.content(table.schema, out_);
    json::Value object = fill(table, content, out_);
    put_map(object, content, table, "meta", meta, meta_range, out_);
    object.members()[table.label_place].value = block.labels[0];
    job_.groups.push_back({json::Object{}, std::move(vault), std::move(secrets)});
    return object;
  }

  json::Value task(const Block& block) {
    const Table& table = job_table("task");
    Schema schema = schema_of({"env", "meta"});
    schema.blocks = {{"scaling", {"name"}}};
    Body rest = block.body;
    std::array<json::Value, 2> maps;
    std::array<Range, 2> ranges;
    const Content taken = block.body.partial(schema, out_, rest);
    take_map_attribute(taken, "env", maps[0], ranges[0], out_);
    take_map_attribute(taken, "meta", maps[1], ranges[1], out_);
    json::Value policies = task_scaling(taken);
    const Content content = rest.content(table.schema, out_);
    json::Value object = fill(table, content, out_);
    put_map(object, content, table, "env", maps[0], ranges[0], out_);
    put_map(object, content, table, "meta", maps[1], ranges[1], out_);
    object.members()[table.label_place].value = block.labels[0];
    object.members()[table.place_of("ScalingPolicies")].value = std::move(policies);
    return object;
  }

  /// R-HCL-411.
  json::Value task_scaling(const Content& content) {
    json::Value policies;
    std::array<const Block*, 2> seen{};
    for (const Block& block : content.blocks) {
      std::string name = block.labels[0];
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      if (name != "cpu" && name != "mem") {
        out_.add(block.label_ranges[0], "Invalid scaling policy name",
                 "scaling policy name must be \"cpu\" or \"mem\"");
        continue;
      }
      const Block*& first = seen[name == "cpu" ? 0 : 1];
      if (first != nullptr) {
        out_.add(
            block.header, "Duplicate scaling \"" + name + "\" block",
            "Only one scaling " + name + " block is allowed. Another was defined at " + first->header.text() + ".");
        continue;
      }
      first = &block;
      const Table& table = job_table("scaling");
      const Content policy = block.body.content(table.schema, out_);
      json::Value object = fill(table, policy, out_);
      const std::string kind = "vertical_" + name;
      json::Value& type = object.members()[table.place_of("Type")].value;
      if (!type.as_string().empty() && type.as_string() != kind) {
        out_.add(policy.attribute("type")->expression.range(), "Invalid scaling policy type",
                 "Invalid policy type, expected \"" + type.as_string() + "\" but found \"" + kind + "\"");
      }
      type = kind;
      if (policies.is_null()) policies = json::Value::array();
      policies.push(std::move(object));
    }
    return policies;
  }

  /// R-HCL-505.
  json::Value group_scaling(const Block& block) {
    const Table& table = job_table("scaling");
    const Content content = block.body.content(table.schema, out_);
    const std::size_t before = out_.count();
    json::Value object = fill(table, content, out_);
    if (object["Max"].is_null() && out_.count() == before) {
      out_.add(content.missing_range, "Missing required argument",
               "The argument \"max\" is required, but no definition was found.");
    }
    json::Value& type = object.members()[table.place_of("Type")].value;
    if (type.as_string().empty()) {
      type = "horizontal";
    } else if (type.as_string() != "horizontal") {
      out_.add(content.attribute("type")->expression.range(), "Invalid group scaling type",
               "task group scaling policy had invalid type: \"" + type.as_string() + "\"");
    }
    return object;
  }

  /// Converts an attribute of a constraint or an affinity, with its own error text (R-HCL-405). Null: unset.
  Value target_value(const Attribute& attribute, Kind kind) {
    const Value value = attribute.expression.value(out_);
    auto converted = convert(value, kind);
    if (!converted) {
      out_.add(attribute.expression.range(), "Incorrect attribute value type",
               "Inappropriate value for attribute \"" + attribute.name + "\": " + converted.error() + ".");
      return Value::null();
    }
    return converted->is_known() ? *converted : Value::null();
  }

  json::Value target(const Table& table, std::span<const ShortForm> forms, const Block& block) {
    const bool affinity = table.name == "affinity";
    Schema schema = table.schema;
    for (const ShortForm& form : forms) schema.attributes.push_back({form.name});
    if (!affinity) {
      for (const char* ignored : {"is_set", "is_not_set", "set_contains_all", "set_contains_any"}) {
        schema.attributes.push_back({ignored});
      }
    }
    const Content content = block.body.content(schema, out_);
    json::Object object = table.unset;
    std::vector<std::pair<std::string, std::string>> short_values;
    for (const Attribute& attribute : content.attributes) {
      if (attribute.name == "weight" && affinity) {
        const Value value = target_value(attribute, Kind::number);
        if (value.is_value() && !value.number().is_infinite()) {
          const Number& number = value.number();
          const auto whole = (number.is_negative() ? number.ceil() : number.floor()).to_int64();
          object[table.place_of("Weight")].value = std::int64_t{static_cast<std::int8_t>(whole.value_or(0))};
        }
        continue;
      }
      const auto form =
          std::find_if(forms.begin(), forms.end(), [&](const auto& f) { return attribute.name == f.name; });
      const Value value = target_value(attribute, form != forms.end() && form->boolean ? Kind::boolean : Kind::string);
      if (!value.is_value()) continue;
      const std::string text = value.kind() == Kind::boolean ? (value.boolean() ? "true" : "false") : value.string();
      if (form != forms.end()) {
        short_values.emplace_back(form->name, text);
        continue;
      }
      for (const Field& field : table.fields) {
        if (field.name == attribute.name) object[field.place].value = text;
      }
    }
    json::Value& operand = object[table.place_of("Operand")].value;
    for (const ShortForm& form : forms) {
      for (const auto& [name, text] : short_values) {
        if (name != form.name || text.empty()) continue;
        operand = name;
        object[table.place_of(form.left ? "LTarget" : "RTarget")].value = text;
      }
    }
    if (operand.as_string().empty()) operand = "=";
    return object;
  }

  json::Value labelled(const Table& table, const Block& block, Diagnostics& out) {
    json::Value object = fill(table, block.body.content(table.schema, out), out);
    if (!table.label_names.empty()) object.members()[table.label_place].value = block.labels[0];
    return object;
  }

  /// A block of the type, with any special handling it needs.
  json::Value decoded(const Table& parent, const Table& table, const Block& block, Diagnostics& out) {
    if (table.name == "group") return group(block);
    if (table.name == "task") return task(block);
    if (table.name == "constraint") return target(table, kConstraintForms, block);
    if (table.name == "affinity") return target(table, kAffinityForms, block);
    if (table.name == "scaling" && parent.name == "group") return group_scaling(block);
    return labelled(table, block, out);
  }

  json::Value fill(const Table& table, const Content& content, Diagnostics& out) {
    json::Value object = table.unset;
    json::Object& members = object.members();
    for (const Attribute& attribute : content.attributes) {
      const auto field = std::find_if(table.fields.begin(), table.fields.end(),
                                      [&](const Field& f) { return f.name == attribute.name; });
      if (field == table.fields.end()) continue;
      json::Value value = attribute_value(*field, attribute.expression, out);
      if (!value.is_null() || field->nullable) members[field->place].value = std::move(value);
    }
    for (const BlockField& field : table.blocks) {
      blocks_of(table, field, content, members[field.place].value, out);
    }
    return object;
  }

  void blocks_of(const Table& table, const BlockField& field, const Content& content, json::Value& value,
                 Diagnostics& out) {
    const bool once = field.shape != Shape::list && field.shape != Shape::by_label;
    const Block* first = nullptr;
    if (once) {
      for (const Block& block : content.blocks) {
        if (block.type != field.type) continue;
        if (first != nullptr) {
          out.add(block.header, "Duplicate " + field.type + " block",
                  "Only one " + field.type + " block is allowed. Another was defined at " + first->header.text() + ".");
          return;
        }
        first = &block;
      }
    }
    std::unordered_map<std::string, std::size_t> places;  // of labels in the object
    for (const Block& block : content.blocks) {
      if (block.type != field.type) continue;
      switch (field.shape) {
        case Shape::one:
          value = decoded(table, *field.table, block, out);
          break;
        case Shape::list:
          if (value.is_null()) value = json::Value::array();
          value.push(decoded(table, *field.table, block, out));
          break;
        case Shape::by_label:
          if (value.is_null()) value = json::Value::object();
          if (const auto [at, added] = places.try_emplace(block.labels[0], value.size()); added) {
            value.members().push_back({block.labels[0], decoded(table, *field.table, block, out)});
          } else {
            value.members()[at->second].value = decoded(table, *field.table, block, out);
          }
          break;
        case Shape::map:
        case Shape::list_map:
          value = map_block(block.body, field.shape == Shape::list_map, out);
          break;
        case Shape::free_form:
          value = free_form_block(block.body, late_);
          break;
        case Shape::apart:
          break;
      }
    }
  }

  Diagnostics out_;
  Diagnostics late_;
  JobParts job_;
};

}  // namespace

tl::expected<json::Value, std::string> read_job(ModuleInput input) {
  const auto module = read_module(std::move(input));
  if (!module) return tl::unexpected(module.error());
  Decoder decoder;
  json::Value job = decoder.run(*module->job);
  if (!decoder.out().empty()) {
    Diagnostics all = module->warnings;
    all.add(decoder.out());
    return tl::unexpected(all.all_text());
  }
  if (!decoder.late().empty()) return tl::unexpected(decoder.late().first_text());
  return job;
}

bool is_job_file(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const auto first = text.find_first_not_of(" \t\r\n");
  // No HCL body starts like a JSON value other than an object.
  if (first == std::string_view::npos || std::string_view("[\"-0123456789").find(text[first]) != text.npos)
    return false;
  const auto last = text.find_last_not_of(" \t\r\n");
  const std::string_view word = text.substr(first, last - first + 1);
  if (word == "true" || word == "false" || word == "null") return false;
  if (text[first] != '{') return true;
  // The first member's name decides: names in jobs of the API are capitalised.
  const auto quote = text.find_first_not_of(" \t\r\n", first + 1);
  if (quote == std::string_view::npos || text[quote] != '"') return false;
  const std::string_view name = text.substr(quote + 1, text.find('"', quote + 1) - quote - 1);
  return name == "job" || name == "variable" || name == "variables" || name == "locals" || name == "//";
}

}  // namespace berth::hcl
