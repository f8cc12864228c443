// The C interface, driven by a script: one call per line.
#include <array>
#include <utility>

#include "berth/berth.h"
#include "fuzz/harness.h"

namespace berth::fuzz {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000'000, kAdvanceMost = 3'600'000'000'000;

/// The handles of a script, freed at its end. Most scripts use one of `cluster` and `life`, so each is made at its
/// first use.
struct Handles {
  berth_cluster* cluster = nullptr;
  berth_life* life = nullptr;
  berth_plan* plan = nullptr;
  bool made_cluster = false, made_life = false;
  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  void make(char function) {
    if (function >= 'A' && function <= 'Z' && !std::exchange(made_cluster, true))
      require(berth_cluster_new(nullptr, &cluster, nullptr) == BERTH_OK, "no cluster");
    if (function >= 'a' && function <= 'z' && !std::exchange(made_life, true))
      require(berth_life_new(1, &life, nullptr) == BERTH_OK, "no simulated cluster");
  }
  ~Handles() { berth_plan_free(plan), berth_life_free(life), berth_cluster_free(cluster); }
};

/// The words of an argument; missing ones are empty.
std::array<std::string, 3> words_of(const std::string& argument) {
  std::array<std::string, 3> out;
  std::size_t at = 0;
  for (std::string& word : out) {
    const std::size_t end = std::min(argument.find(' ', at), argument.size());
    word = argument.substr(at, end - at);
    at = std::min(end + 1, argument.size());
  }
  return out;
}

void read_view(berth_view* view) {
  if (!view) return;
  berth_nodes nodes{};
  nodes.size = sizeof nodes;
  berth_allocs allocs{};
  allocs.size = sizeof allocs;
  require(berth_view_nodes(view, &nodes, nullptr) == BERTH_OK, "a view has no nodes");
  require(berth_view_allocs(view, &allocs, nullptr) == BERTH_OK, "a view has no allocations");
  for (size_t i = 0; i < allocs.count; ++i)
    require(allocs.node[i] < static_cast<int64_t>(nodes.count), "an allocation is on no node of the view");
  char* text = berth_view_to_json(view);
  berth_cluster* again = nullptr;
  berth_error* error = nullptr;
  const berth_code code = berth_cluster_from_json(text, nullptr, &again, &error);
  const std::string problem = berth_error_text(error);
  berth_error_free(error);
  berth_string_free(text);
  berth_cluster_free(again);
  berth_view_free(view);
  require(code == BERTH_OK, "a written cluster cannot be read: ", problem);
}

void read_plan(const berth_plan* plan) {
  for (size_t i = 0; i <= berth_plan_placements(plan); ++i) (void)berth_plan_placement(plan, i);
  (void)berth_plan_failed(plan), (void)berth_plan_stops(plan);
  berth_string_free(berth_plan_explain(plan));
}

berth_code call(char function, const std::string& argument, Handles& h, berth_error** error) {
  const auto words = words_of(argument);
  const char *first = words[0].c_str(), *second = words[1].c_str(), *text = argument.c_str();
  berth_view* view = nullptr;
  switch (function) {
    case 'C':
      berth_cluster_free(h.cluster), h.cluster = nullptr;
      return berth_cluster_from_json(text, nullptr, &h.cluster, error);
    case 'N':
      return berth_cluster_add_node(h.cluster, text, error);
    case 'S':
      return berth_cluster_set_node(h.cluster, first, second, words[2] != "0", words[2] == "d", error);
    case 'B':
      return berth_cluster_score_by(h.cluster, text, error);
    case 'J':
      return berth_cluster_register_job(h.cluster, text, nullptr, error);
    case 'R':
      return berth_cluster_remove_job(h.cluster, first, second, error);
    case 'A':
      return berth_cluster_set_alloc_status(h.cluster, first, second, error);
    case 'P': {
      berth_plan_free(h.plan), h.plan = nullptr;
      const berth_code code = berth_cluster_schedule(h.cluster, first, second, kNow, &h.plan, error);
      read_plan(h.plan);
      return code;
    }
    case 'M': {
      berth_commit_result result{};
      return berth_cluster_commit(h.cluster, h.plan, &result, error);
    }
    case 'V': {
      const berth_code code = berth_cluster_view(h.cluster, &view, error);
      read_view(view);
      return code;
    }
    case 'n':
      return berth_life_add_node(h.life, text, error);
    case 'j':
      return berth_life_register_job(h.life, text, error);
    case 'r':
      return berth_life_stop_job(h.life, first, second, words[2] == "1", error);
    case 'd':
      return berth_life_drain_node(h.life, first, std::atoll(second), error);
    case 'u':
      return berth_life_set_reachable(h.life, first, words[1] != "0", error);
    case 'a':
      return berth_life_advance(h.life, std::min<int64_t>(std::atoll(first), kAdvanceMost), error);
    case 'v': {
      const berth_code code = berth_life_view(h.life, &view, error);
      read_view(view);
      return code;
    }
    default:
      return BERTH_OK;
  }
}

void fuzz_c_api(std::string_view input) {
  constexpr std::size_t kCallsMost = 24;
  Handles handles;
  const std::vector<std::string> lines = lines_of(input);
  for (std::size_t i = 0; i < std::min(lines.size(), kCallsMost); ++i) {
    if (lines[i].empty()) continue;
    handles.make(lines[i][0]);
    berth_error* error = nullptr;
    const berth_code code = call(lines[i][0], lines[i].substr(1), handles, &error);
    const std::string text = berth_error_text(error);
    const berth_code kept = berth_error_code(error);
    berth_error_free(error);
    require(code == kept, "the error has another code than the call");
    require((code == BERTH_OK) == text.empty(), "a failed call has no text, or a successful one has");
  }
}

const FuzzTarget kCApi("c_api", fuzz_c_api);

}  // namespace
}  // namespace berth::fuzz
