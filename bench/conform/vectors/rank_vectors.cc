// Adapters from recorded vectors to berth: numbers, fit scores, visiting order, the list of best nodes.
#include <span>
#include <vector>

#include "conform/compare.h"
#include "conform/vector.h"
#include "conform/vectors/rank_chain_vectors.h"
#include "rank/numbers.h"
#include "rank/order.h"
#include "rank/score_fit.h"
#include "rank/top_scores.h"

namespace berth::conform {
namespace {

double bits_of(const Field& text) {
  const auto bits = parse_bits(text.as_string());
  if (!bits) text.fail("is no double as 16 hex digits");
  return *bits;
}

// R-RANK-105, 106; the array form must give the same bits as the scalar one.
Outcome replay_numbers(const Vector& v) {
  const double x = bits_of(v.in["x"]);
  const bool pow10 = v.in["function"].as_string() == "pow10";
  const std::vector<double> xs(19, x);
  std::vector<double> ys(xs.size());
  pow10 ? rank::exact_pow10(xs, ys) : rank::exact_exp(xs, ys);
  const std::string scalar = bits_text(pow10 ? rank::exact_pow10(x) : rank::exact_exp(x));
  for (const double y : ys)
    if (bits_text(y) != scalar) return Outcome::failed("scalar " + scalar + ", array " + bits_text(y));
  json::Value got;
  got.set("y", scalar);
  return Outcome::from(compare(v.out, got, {.rule = "R-RANK-105"}));
}

// R-MODEL-450 to 454.
Outcome replay_score_fit(const Vector& v) {
  const auto algorithm =
      v.in["algorithm"].as_string() == "spread" ? rank::FitAlgorithm::spread : rank::FitAlgorithm::binpack;
  const double cpu = rank::fit_capacity(v.in["node_cpu"].as_int(), v.in["reserved_cpu"].as_int());
  const double memory = rank::fit_capacity(v.in["node_memory"].as_int(), v.in["reserved_memory"].as_int());
  const std::int64_t cpu_used = v.in["used_cpu"].as_int(), memory_used = v.in["used_memory"].as_int();
  const double recorded = rank::fit_component(algorithm, cpu_used, cpu, memory_used, memory);
  json::Value expected, got;
  for (const auto& member : v.out.members()) expected.set(member.key, same_nan(member.value));
  got.set("free_cpu", bits_text(rank::free_fraction(cpu_used, cpu)));
  got.set("free_memory", bits_text(rank::free_fraction(memory_used, memory)));
  got.set("score", bits_text(rank::fit_score(algorithm, cpu_used, cpu, memory_used, memory)));
  got.set("recorded", bits_text(recorded));
  return Outcome::from(compare(expected, got, {.rule = "R-RANK-652"}));
}

// R-MODEL-565 to 567. A node may be pushed more than once, so the heap counts pushes.
Outcome replay_top_scores(const Vector& v) {
  rank::TopScores top;
  const auto pushes = v.in["pushes"].items();
  for (std::size_t i = 0; i < pushes.size(); ++i) top.push(static_cast<std::uint32_t>(i), bits_of(pushes[i][1]));
  json::Value got;
  json::Value& list = got.set("list", json::Value::array());
  for (const rank::ScoredNode& node : top.take())
    list.push(json::Array{pushes[node.id][0].as_string(), bits_text(node.score)});
  return Outcome::from(compare(v.out, got, {.rule = "R-MODEL-567"}));
}

// R-FEAS-202 to 206.
Outcome replay_shuffle(const Vector& v) {
  rank::VisitingOrder order;
  const auto set = order.set(rank::OrderProvider::nomad, v.in["eval_id"].as_string(), v.in["index"].as_uint(),
                             v.in["count"].as_count());
  if (!set) return Outcome::failed(set.error().line());
  json::Value got;
  json::Value& list = got.set("order", json::Value::array());
  for (const std::uint32_t position : order.all()) list.push(static_cast<std::int64_t>(position));
  return Outcome::from(compare(v.out, got, {.rule = "R-FEAS-203"}));
}

}  // namespace

std::span<const Component> rank_components() {
  static constexpr Component kComponents[] = {
      {"numbers", replay_numbers}, {"score_fit", replay_score_fit},     {"top_scores", replay_top_scores},
      {"shuffle", replay_shuffle}, {"even_spread", replay_even_spread}, {"score_chain", replay_score_chain},
  };
  return kComponents;
}

}  // namespace berth::conform
