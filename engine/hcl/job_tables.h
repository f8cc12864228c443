// Field tables of job files: the place of each attribute and block in the job of the API (R-HCL-400 to 490).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "hcl/body.h"

namespace berth::hcl {

enum class FieldKind { string, integer, boolean, duration, string_list, port_list, string_map };

struct Field {
  std::string name;
  std::size_t place = 0;  ///< in the object of the API
  FieldKind kind = FieldKind::string;
  bool nullable = false;  ///< null if unset or set to null
  bool required = false;
  bool is_signed = true;  ///< of integers
  int bits = 64;
};

enum class Shape { one, list, by_label, map, list_map, free_form, apart };

struct Table;
struct BlockField {
  std::string type;
  std::size_t place = 0;
  Shape shape = Shape::one;
  const Table* table = nullptr;  ///< of one, list and by_label
};

struct Table {
  std::string name;
  std::vector<Field> fields;
  std::vector<BlockField> blocks;
  std::vector<std::string> label_names;  ///< none or one, as in error texts
  std::size_t label_place = 0;
  json::Object unset;  ///< the object with no field set
  Schema schema;

  [[nodiscard]] std::size_t place_of(std::string_view key) const;  ///< position of an existing field of the API
};

/// The table of a name in job_tables.cc: "job", "group", "task", ...
[[nodiscard]] const Table& job_table(std::string_view name);

}  // namespace berth::hcl
