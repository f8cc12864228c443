// Adapters from recorded vectors to berth: the reconciler for service and batch jobs and its leaf functions.
#include <algorithm>
#include <span>

#include "conform/compare.h"
#include "conform/vector.h"
#include "model/codec.h"
#include "model/names.h"
#include "model/predicates.h"
#include "reconcile/alloc_facts.h"
#include "reconcile/name_index.h"
#include "reconcile/reconnect.h"
#include "reconcile/reschedule.h"

namespace berth::conform {
namespace {

using json::Value;

/// Reads a model value or makes the vector fail.
#define BERTH_READ(type, name, value) \
  model::type name;                   \
  if (auto done = model::from_json(value, name); !done) return Outcome::failed(done.error().line())

/// `not tainted`, `gone`, or the status of a tainted node.
reconcile::NodeTaint taint_of_text(const std::string& text) {
  using reconcile::NodeTaint;
  if (text == "gone") return NodeTaint::gone;
  if (text == "ready") return NodeTaint::ready;
  if (text == "initializing") return NodeTaint::initializing;
  if (text == "down") return NodeTaint::down;
  if (text == "disconnected") return NodeTaint::disconnected;
  return NodeTaint::none;
}

Outcome classify(const Vector& v) {
  BERTH_READ(Allocation, alloc, v.in["alloc"]);
  const auto facts = reconcile::read_facts(alloc, 0, taint_of_text(v.in["node"].as_string()), "");
  const auto alloc_class = reconcile::classify(facts, v.in["now"].as_int());
  if (alloc_class != reconcile::classify_unusual(facts, v.in["now"].as_int()))
    return Outcome::failed("the short way and the long way differ");
  Value out = Value::object();
  out.set("class", reconcile::to_text(alloc_class));
  return Outcome::from(compare(v.out, out, {.rule = "R-RECON-106"}));
}

Outcome reschedulable(const Vector& v) {
  BERTH_READ(Allocation, alloc, v.in["alloc"]);
  const Value& deployment = v.in["deployment"];
  const std::string& deployment_id = deployment["ID"].as_string();
  const auto facts = reconcile::read_facts(alloc, 0, reconcile::NodeTaint::none, deployment_id);
  const bool is_batch = v.in["is_batch"].as_bool(), disconnecting = v.in["is_disconnecting"].as_bool();
  const reconcile::RescheduleContext context{
      v.in["now"].as_int(), v.in["eval_id"].as_string(), is_batch,
      !deployment.is_null() && model::is_active_deployment(deployment["Status"].as_string())};
  const auto answer = reconcile::judge_reschedule(facts, context, disconnecting);
  const auto long_way = reconcile::judge_unusual(facts, context, disconnecting);
  if (answer.when != long_way.when || answer.at != long_way.at)
    return Outcome::failed("the short way and the long way differ");
  using When = reconcile::RescheduleAnswer::When;
  const auto verdict = reconcile::verdict_on(facts, is_batch);
  Value out = Value::object();
  out.set("untainted", answer.when == When::kept || answer.when == When::later);
  out.set("now", answer.when == When::now), out.set("later", answer.when == When::later);
  if (answer.when == When::later) out.set("later_time", answer.at.ns);
  out.set("filter_untainted", verdict == reconcile::Verdict::keep);
  out.set("filter_ignore", verdict == reconcile::Verdict::drop);
  return Outcome::from(compare(v.out, out, {.rule = "R-RECON-112 to 116"}));
}

Outcome name_index(const Vector& v) {
  const std::string& job = v.in["job"].as_string();
  const std::string& group = v.in["group"].as_string();
  const auto indexes = [&](const Value& names) {
    std::vector<std::uint32_t> out;
    for (const Value& name : names.items())
      out.push_back(static_cast<std::uint32_t>(model::alloc_index(name.as_string(), job, group)));
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto names = [&](const std::vector<std::uint32_t>& taken) {
    Value out = Value::array();
    for (const std::uint32_t index : taken) out.push(model::alloc_name(job, group, index));
    return out;
  };
  reconcile::NameIndex index(indexes(v.in["used"]), static_cast<std::uint32_t>(v.in["count"].as_uint()));
  Value out = Value::object(), expected = v.out;
  out.set("bits", static_cast<std::int64_t>(index.size_bits()));
  Value& results = out.set("results", Value::array());
  std::size_t position = 0;
  for (const Value& op : v.in["operations"].items()) {
    Value result = Value::object();
    if (op.has("next")) {
      result.set("names", names(index.next(op["next"].as_uint())));
    } else if (op.has("highest")) {
      auto taken = index.highest(op["highest"].as_uint());
      std::sort(taken.begin(), taken.end());  // a set: both sides by index
      result.set("names", names(taken));
      Value& recorded = expected.find("results")->items()[position].set("names", v.out["results"][position]["names"]);
      recorded = names(indexes(recorded));
    } else if (op.has("unset")) {
      index.unset(static_cast<std::uint32_t>(op["unset"].as_uint()));
    } else if (op.has("is_duplicate")) {
      result.set("duplicate", index.is_duplicate(static_cast<std::uint32_t>(op["is_duplicate"].as_uint())));
    } else if (op.has("next_canaries")) {
      result.set("names", names(index.next_canaries(op["next_canaries"].as_uint(), indexes(op["existing"]),
                                                    indexes(op["destructive"]))));
    } else {
      return Outcome::unsupported("name index operation " + json::to_text(op));
    }
    results.push(std::move(result));
    ++position;
  }
  return Outcome::from(compare(expected, out, {.rule = "R-RECON-157 to 164"}));
}

Outcome reconnect_pick(const Vector& v) {
  BERTH_READ(Allocation, original, v.in["original"]);
  BERTH_READ(Allocation, replacement, v.in["replacement"]);
  const auto add_scores = [&](const char* key, model::Allocation& alloc) {
    const Value* scores = v.in[key].find("NormScores");
    if (!scores) return;
    alloc.metrics.emplace();
    for (const Value& score : scores->items())
      alloc.metrics->score_meta_data.emplace_back().norm_score = score.as_double();
  };
  add_scores("original", original);
  add_scores("replacement", replacement);
  const bool keeps_replacement =
      reconcile::prefers_replacement(original, replacement, v.in["strategy"].as_string(), v.in["now"].as_int());
  Value out = Value::object();
  out.set("keep", keeps_replacement ? "replacement" : "original");
  return Outcome::from(compare(v.out, out, {.rule = "R-RECON-128 to 134"}));
}

#undef BERTH_READ

}  // namespace

std::span<const Component> reconcile_components() {
  static constexpr Component kComponents[] = {
      {"classify", classify},
      {"reschedulable", reschedulable},
      {"name_index", name_index},
      {"reconnect_pick", reconnect_pick},
  };
  return kComponents;
}

}  // namespace berth::conform
