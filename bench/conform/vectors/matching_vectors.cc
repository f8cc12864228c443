// Adapters from recorded vectors to berth: targets, operands, devices, computed class, class cache, distinct_*.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conform/compare.h"
#include "conform/vector.h"
#include "feasible/class_cache.h"
#include "feasible/devices.h"
#include "feasible/distinct.h"
#include "match/device_match.h"
#include "match/operand.h"
#include "match/target.h"
#include "model/codec/codec.h"
#include "model/computed_class.h"
#include "model/job.h"
#include "model/predicates.h"
#include "rank/devices.h"
#include "tables/state.h"

namespace berth::conform {
namespace {

Outcome compared(const Vector& v, const Field& got, std::string_view rule) {
  return Outcome::from(compare(v.out, got, {.rule = rule}));
}

json::Value object(json::Object members) { return json::Value(std::move(members)); }

match::Side side(const Vector& v, std::string_view text, std::string_view found) {
  return {v.in[text].as_string(), v.in[found].as_bool()};
}

Outcome replay_operand(const Vector& v) {
  match::Patterns patterns;
  const bool result = match::evaluate(match::parse_operand(v.in["operand"].as_string()), side(v, "left", "left_found"),
                                      side(v, "right", "right_found"), patterns);
  return compared(v, object({{"result", result}}), "R-FEAS-601");
}

Outcome replay_resolve_target(const Vector& v) {
  model::Node node;
  if (auto read = from_json(v.in["node"], node); !read) return Outcome::failed(read.error().problem);
  const match::Target target = match::parse_target(v.in["target"].as_string());
  const match::Side got = match::resolve(target, node);
  return compared(v, object({{"value", got.text}, {"found", got.found}}), "R-FEAS-501");
}

Outcome replay_constraint_escapes(const Vector& v) {
  model::Constraint constraint;
  if (auto read = from_json(v.in, constraint); !read) return Outcome::failed(read.error().problem);
  return compared(v, object({{"escapes", match::escapes_class(constraint)}}), "R-FEAS-405");
}

Outcome replay_computed_class(const Vector& v) {
  model::Node node;
  if (auto read = from_json(v.in["node"], node); !read) return Outcome::failed(read.error().problem);
  return compared(v, object({{"class", model::computed_class(node)}}), "R-MODEL-543");
}

/// An attribute of a vector: as in the API, with `FloatBits` for doubles that JSON cannot express.
std::optional<model::Attribute> read_attribute(const Field& value) {
  if (value.is_null()) return std::nullopt;
  model::Attribute out;
  if (const auto v = value.find("Int")) out.int_value = v->as_int();
  if (const auto v = value.find("Float")) out.float_value = v->as_double();
  if (const auto v = value.find("FloatBits")) out.float_value = parse_bits(v->as_string());
  if (const auto v = value.find("String")) out.string_value = v->as_string();
  if (const auto v = value.find("Bool")) out.bool_value = v->as_bool();
  out.unit = value["Unit"].as_string();
  return out;
}

json::Value write_attribute(const model::Attribute& a) {
  json::Value out = json::Value::object();
  if (a.int_value) out.set("Int", *a.int_value);
  if (a.float_value) {
    if (std::isfinite(*a.float_value)) out.set("Float", *a.float_value);
    out.set("FloatBits", bits_text(*a.float_value));
  }
  if (a.string_value) out.set("String", *a.string_value);
  if (a.bool_value) out.set("Bool", *a.bool_value);
  if (!a.unit.empty()) out.set("Unit", a.unit);
  return out;
}

Outcome replay_device_attribute(const Vector& v) {
  const json::Value got = write_attribute(match::parse_device_literal(v.in["text"].as_string()));
  // An absent value differs from a zero one here: `0` is an int, `` a text.
  return Outcome::from(compare(v.out, object({{"attribute", got}}), {.absent_is_zero = false, .rule = "R-FEAS-921"}));
}

Outcome replay_device_compare(const Vector& v) {
  const auto left = read_attribute(v.in["left"]), right = read_attribute(v.in["right"]);
  const match::DeviceOrder order =
      match::compare(left.value_or(model::Attribute{}), right.value_or(model::Attribute{}));
  if (order == match::DeviceOrder::not_a_number) return Outcome::failed("a NaN was compared");
  json::Value got = object({{"comparable", order != match::DeviceOrder::incomparable}});
  if (order != match::DeviceOrder::incomparable)
    got.set("order", static_cast<int>(order) - static_cast<int>(match::DeviceOrder::equal));
  return compared(v, got, "R-FEAS-932");
}

Outcome replay_device_operand(const Vector& v) {
  const auto side = [&](std::string_view value, std::string_view found) {
    const auto attribute = read_attribute(v.in[value]);
    // "Found without a value" occurs in the instance filter (R-RANK-634): comparable with nothing.
    return v.in[found].as_bool() ? std::optional(attribute.value_or(model::Attribute{})) : std::nullopt;
  };
  const auto left = side("left", "left_found"), right = side("right", "right_found");
  match::Patterns patterns;
  const auto result = match::evaluate_device(match::parse_operand(v.in["operand"].as_string()), left ? &*left : nullptr,
                                             right ? &*right : nullptr, patterns);
  if (!result) return Outcome::failed("a NaN was compared");
  return compared(v, object({{"result", *result}}), "R-FEAS-934");
}

template <class T>
Result<std::vector<T>> read_list(const Field& list) {
  std::vector<T> out(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    if (auto read = from_json(list[i], out[i]); !read) return tl::unexpected(read.error());
  return out;
}

Outcome replay_device_feasible(const Vector& v) {
  const auto devices = read_list<model::NodeDevice>(v.in["devices"]);
  const auto asks = read_list<model::RequestedDevice>(v.in["asks"]);
  if (!devices || !asks) return Outcome::failed("the vector cannot be read");
  std::vector<match::DeviceRequest> requests;
  for (const model::RequestedDevice& ask : *asks) requests.push_back(match::compile_device(ask));
  match::Patterns patterns;
  const auto feasible = feasible::has_devices(*devices, requests, patterns);
  if (!feasible) return Outcome::failed("a NaN was compared");
  return Outcome::from(compare(v.out["feasible"], json::Value(*feasible), {.rule = "R-FEAS-903"}));
}

json::Value group_text(const rank::DeviceAccounter::Group& group) {
  return json::Value(group.device->vendor + "/" + group.device->type + "/" + group.device->name);
}

Outcome replay_device_accounting(const Vector& v) {
  model::Node node;
  if (auto read = from_json(v.in["node"], node); !read) return Outcome::failed(read.error().problem);
  const auto allocs = read_list<model::Allocation>(v.in["allocs"]);
  if (!allocs) return Outcome::failed(allocs.error().problem);
  if (!node.node_resources) node.node_resources.emplace();
  rank::DeviceAccounter accounter(node.node_resources->devices);
  bool collision = false;
  for (const model::Allocation& alloc : *allocs) collision |= accounter.add(alloc);
  json::Value free = json::Value::object(), use_counts = json::Value::object();
  for (const rank::DeviceAccounter::Group& group : accounter.groups()) {
    json::Value counts = json::Value::object();
    for (const auto& instance : group.instances)
      counts.set(instance.id, static_cast<std::uint64_t>(instance.use_count));
    free.set(group_text(group).as_string(), static_cast<std::uint64_t>(group.free_count()));
    use_counts.set(group_text(group).as_string(), counts);
  }
  return compared(v, object({{"collision", collision}, {"free", free}, {"use_counts", use_counts}}), "R-MODEL-522");
}

Outcome replay_device_assign(const Vector& v) {
  std::vector<model::NodeDevice> devices(v.in["devices"].size());
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (auto read = from_json(v.in["devices"][i]["group"], devices[i]); !read)
      return Outcome::failed(read.error().problem);
  rank::DeviceAccounter accounter(devices);
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (const auto& use : v.in["devices"][i]["use_counts"].members())
      for (std::size_t n = 0; n < use.value.as_count(10'000); ++n)
        accounter.add(model::AllocatedDevice{devices[i].vendor, devices[i].type, devices[i].name, {use.key}});
  model::RequestedDevice ask;
  if (auto read = from_json(v.in["ask"], ask); !read) return Outcome::failed(read.error().problem);
  match::Patterns patterns;
  model::AllocatedDevice device;
  const auto offer = accounter.offer(match::compile_device(ask), patterns, device);
  json::Value got;
  if (offer) {
    got.set("offer", model::to_json(device));
    got.set("matched_weight", *offer);
  } else if (offer.error().not_a_number) {
    return Outcome::failed("a NaN was compared");
  } else {
    got.set("error", offer.error().text);
  }
  return Outcome::from(compare(v.out["result"], got, {.rule = "R-RANK-633"}));
}

/// Numbers for texts, in order of first use.
class Numbers {
 public:
  std::uint32_t of(std::string_view text) {
    const auto it = std::find(texts_.begin(), texts_.end(), text);
    if (it != texts_.end()) return static_cast<std::uint32_t>(it - texts_.begin());
    texts_.emplace_back(text);
    return static_cast<std::uint32_t>(texts_.size() - 1);
  }
  const std::string& text(std::uint32_t number) const { return texts_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }

 private:
  std::vector<std::string> texts_;
};

Outcome replay_class_eligibility(const Vector& v) {
  const auto job = std::make_shared<model::Job>();
  if (auto read = from_json(v.in["job"], *job); !read) return Outcome::failed(read.error().problem);
  tables::StateStore store;
  const tables::CompiledJob& compiled = *store.current().jobs.versions[store.upsert_job(job, true)];
  Numbers classes, groups;
  for (const Field& operation : v.in["operations"].items()) {
    classes.of(operation["class"].as_string());
    if (operation.has("set_group")) groups.of(operation["set_group"].as_string());
  }
  for (const model::TaskGroup& group : job->task_groups) groups.of(group.name);
  struct Asked {
    std::string place, owner;
    std::uint32_t class_id;
  };
  std::vector<Asked> asked;  // keys of `status`: owner, blank, class
  for (const auto& status : v.out["status"].members()) {
    const std::size_t blank = status.key.rfind(' ');
    asked.push_back({status.key, status.key.substr(0, blank), classes.of(status.key.substr(blank + 1))});
    if (asked.back().owner != "job") groups.of(asked.back().owner);
  }

  feasible::ClassCache cache;
  cache.begin_attempt(classes.size(), groups.size());
  cache.set_job_escapes(compiled.escapes);
  for (const tables::CompiledGroup& group : compiled.groups)
    cache.set_group_escapes(groups.of(group.spec->name), group.escapes);
  for (const Field& operation : v.in["operations"].items()) {
    const std::uint32_t class_id = classes.of(operation["class"].as_string());
    if (operation.has("set_group"))
      cache.set_group(groups.of(operation["set_group"].as_string()), class_id, operation["eligible"].as_bool());
    else
      cache.set_job(class_id, operation["set_job"].as_bool());
  }

  static constexpr const char* kStatusTexts[] = {"unknown", "eligible", "ineligible", "escaped"};
  json::Value statuses = json::Value::object(), class_map = json::Value::object();
  for (const Asked& a : asked) {
    const auto status =
        a.owner == "job" ? cache.job_status(a.class_id) : cache.group_status(groups.of(a.owner), a.class_id);
    statuses.set(a.place, kStatusTexts[static_cast<int>(status)]);
  }
  for (const auto& verdict : cache.class_map()) class_map.set(classes.text(verdict.class_id), verdict.eligible);
  // An absent class differs from a false one, so absent does not count as zero here.
  json::Value expected = v.out;
  if (!expected.has("escaped")) expected.set("escaped", false);
  if (!expected.has("classes")) expected.set("classes", json::Value::object());
  return Outcome::from(compare(expected,
                               object({{"status", statuses}, {"classes", class_map}, {"escaped", cache.has_escaped()}}),
                               {.absent_is_zero = false, .rule = "R-FEAS-409"}));
}

/// One record of `distinct`: Selects over all nodes and placements into the plan, replayed on the property sets.
class DistinctReplay {
 public:
  Result<json::Value> run(const Field& in) {
    if (auto read = from_json(in["job"], job_); !read) return tl::unexpected(read.error());
    auto nodes = read_list<model::Node>(in["nodes"]);
    auto allocs = read_list<model::Allocation>(in["allocs"]);
    if (!nodes) return tl::unexpected(nodes.error());
    if (!allocs) return tl::unexpected(allocs.error());
    nodes_ = std::move(*nodes), allocs_ = std::move(*allocs);
    for (const Field& alloc : in["allocs"].items()) job_create_index_.push_back(alloc["JobCreateIndex"].as_uint());
    if (auto read = read_plan(in["plan"]["NodeAllocation"], placed_); !read) return tl::unexpected(read.error());
    if (auto read = read_plan(in["plan"]["NodeUpdate"], stopped_); !read) return tl::unexpected(read.error());
    if (auto read = read_plan(in["plan"]["NodePreemptions"], preempted_); !read) return tl::unexpected(read.error());

    for (const model::TaskGroup& group : job_.task_groups) groups_.of(group.name);
    const std::uint32_t group_count = groups_.size();
    sets_.begin_attempt(group_count);
    fill_existing(sets_.add_job(job_.constraints));
    json::Value steps = json::Value::array();
    for (const Field& step : in["steps"].items()) {
      if (step.has("select")) {
        if (!job_.group(step["select"].as_string())) step["select"].fail("names no group of the job");
        steps.push(select(groups_.of(step["select"].as_string())));
      } else {
        model::Allocation alloc;
        if (auto read = from_json(step["place"], alloc); !read) return tl::unexpected(read.error());
        placed_.push_back(std::move(alloc));
        steps.push(json::Value::object());
      }
    }
    return object({{"steps", steps}});
  }

 private:
  static Result<void> read_plan(const Field& map, std::vector<model::Allocation>& out) {
    for (const auto& node : map.members()) {
      auto allocs = read_list<model::Allocation>(node.value);
      if (!allocs) return tl::unexpected(allocs.error());
      for (model::Allocation& alloc : *allocs) {
        if (alloc.node_id.empty()) alloc.node_id = node.key;
        out.push_back(std::move(alloc));
      }
    }
    return {};
  }

  std::uint32_t code_of(const feasible::PropertySet& set, const model::Node& node) {
    const match::Side side = match::resolve(set.target(), node);
    return side.found ? values_.of(side.text) : feasible::PropertySet::kNoValue;
  }
  std::uint32_t code_of(const feasible::PropertySet& set, const model::Allocation& alloc) {
    for (const model::Node& node : nodes_)
      if (node.id == alloc.node_id) return code_of(set, node);
    return feasible::PropertySet::kNoValue;
  }

  bool is_of_job(const model::Allocation& alloc) const {
    return alloc.namespace_ == job_.namespace_ && alloc.job_id == job_.id;
  }

  void fill_existing(std::span<feasible::PropertySet> sets) {
    for (feasible::PropertySet& set : sets)
      for (std::size_t i = 0; i < allocs_.size(); ++i) {
        const model::Allocation& alloc = allocs_[i];
        if (is_of_job(alloc) && job_create_index_[i] == job_.create_index && !model::is_terminal(alloc) &&
            set.counts_group(groups_.of(alloc.task_group)))
          set.add_existing(code_of(set, alloc));
      }
  }

  json::Value select(std::uint32_t group_number) {
    const model::TaskGroup& group = *std::find_if(job_.task_groups.begin(), job_.task_groups.end(),
                                                  [&](const auto& g) { return groups_.of(g.name) == group_number; });
    fill_existing(sets_.add_group(group_number, group.constraints));
    sets_.for_each([&](feasible::PropertySet& set) {
      set.begin_plan();
      for (const model::Allocation& alloc : placed_)
        if (!model::is_terminal(alloc) && set.counts_group(groups_.of(alloc.task_group)))
          set.add_proposed(code_of(set, alloc));
      for (const model::Allocation& alloc : stopped_)
        if (set.counts_group(groups_.of(alloc.task_group))) set.add_cleared(code_of(set, alloc));
      set.end_plan();
    });

    const feasible::DistinctHosts hosts{match::has_distinct_hosts(job_.constraints),
                                        match::has_distinct_hosts(group.constraints)};
    json::Value pass = json::Value::array(), reasons = json::Value::object(), class_filtered = json::Value::object();
    std::int64_t filtered = 0;
    const auto filter = [&](const model::Node& node, const std::string& reason) {
      ++filtered;
      reasons.set(reason, reasons[reason].as_int() + 1);
      if (!node.node_class.empty()) class_filtered.set(node.node_class, class_filtered[node.node_class].as_int() + 1);
    };
    for (const model::Node& node : nodes_) {
      const auto [job_allocs, group_allocs] = count_proposed(node.id, group.name);
      if (hosts.filters(job_allocs, group_allocs)) {
        filter(node, "distinct_hosts");
        continue;
      }
      const feasible::PropertySet* failing =
          sets_.first_failing(group_number, [&](const feasible::PropertySet& set) { return code_of(set, node); });
      if (failing)
        filter(node, failing->reason(code_of(*failing, node), match::resolve(failing->target(), node).text));
      else
        pass.push(node.id);
    }
    return object({{"pass", pass}, {"filtered", filtered}, {"reasons", reasons}, {"class_filtered", class_filtered}});
  }

  /// Proposed allocations of the job on a node, and those of the group among them (R-FEAS-1301, 1313).
  std::pair<std::uint32_t, std::uint32_t> count_proposed(const std::string& node_id, const std::string& group) const {
    const auto has = [&](const std::vector<model::Allocation>& list, const std::string& id) {
      return std::any_of(list.begin(), list.end(),
                         [&](const model::Allocation& a) { return a.node_id == node_id && a.id == id; });
    };
    std::uint32_t of_job = 0, of_group = 0;
    const auto count = [&](const model::Allocation& alloc) {
      if (alloc.node_id != node_id || !is_of_job(alloc)) return;
      ++of_job;
      of_group += alloc.task_group == group;
    };
    for (const model::Allocation& alloc : allocs_)
      if (!has(stopped_, alloc.id) && !has(preempted_, alloc.id) && !has(placed_, alloc.id) &&
          !model::is_client_terminal(alloc))
        count(alloc);
    for (const model::Allocation& alloc : placed_) count(alloc);
    return {of_job, of_group};
  }

  model::Job job_;
  std::vector<model::Node> nodes_;
  std::vector<model::Allocation> allocs_, placed_, stopped_, preempted_;
  std::vector<std::uint64_t> job_create_index_;
  Numbers groups_, values_;
  feasible::PropertySets sets_;
};

Outcome replay_distinct(const Vector& v) {
  const auto got = DistinctReplay().run(v.in);
  if (!got) return Outcome::failed(got.error().problem);
  return compared(v, *got, "R-FEAS-1410");
}

constexpr Component kComponents[] = {
    {"operand_equality", replay_operand},
    {"operand_order", replay_operand},
    {"operand_version", replay_operand},
    {"operand_semver", replay_operand},
    {"operand_regexp", replay_operand},
    {"operand_set", replay_operand},
    {"resolve_target", replay_resolve_target},
    {"constraint_escapes", replay_constraint_escapes},
    {"computed_class", replay_computed_class},
    {"class_eligibility", replay_class_eligibility},
    {"device_accounting", replay_device_accounting},
    {"device_assign", replay_device_assign},
    {"device_attribute", replay_device_attribute},
    {"device_compare", replay_device_compare},
    {"device_feasible", replay_device_feasible},
    {"device_operand", replay_device_operand},
    {"distinct", replay_distinct},
};

}  // namespace

std::span<const Component> matching_components() { return kComponents; }

}  // namespace berth::conform
