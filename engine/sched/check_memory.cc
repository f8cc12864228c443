#include "sched/check_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "sched/memory_access.h"

namespace berth::sched {
namespace {

using rank::Known;
using tables::CompiledGroup;
using tables::CompiledJob;
using tables::kNoRow;
using tables::NodeRow;
using tables::NodeTable;
using tables::ReadyNodes;
using tables::Snapshot;

using Access = MemoryAccess;

class MemoryCheck {
 public:
  MemoryCheck(const Snapshot& snapshot, Scratch& scratch)
      : snapshot_(snapshot), nodes_(snapshot.nodes), scratch_(scratch) {
    fresh_.options = scratch.options;
  }

  std::vector<std::string> run() {
    check_ready();
    check_mirrors();
    check_classes();
    check_volumes();
    if (!scratch_.by_state.feed.holds(nodes_)) problem("NodeFeed: free amounts of a node are not those gathered");
    for (std::size_t i = 0; i < scratch_.by_state.indexes.size(); ++i) check_index(static_cast<std::uint32_t>(i));
    for (const AskTable& table : Access::tables(scratch_.by_state.ask_tables))
      if (!table.of_row.empty()) check_table(table);
    return std::move(problems_);
  }

 private:
  void problem(std::string text) { problems_.push_back(std::move(text)); }
  void problem(const char* cache, NodeRow row, const std::string& cached, const std::string& found) {
    problem(fmt::format("{}: node {} has {}, a fresh fill {}", cache, nodes_.spec(row).node.name, cached, found));
  }

  /// Lists the rows that a cache filled at `places` refreshes before use. False: the cache is filled again instead.
  template <class... Places>
  bool list_changed(const Places&... places) {
    std::vector<NodeRow> changed;
    changed_.assign(nodes_.size(), false);
    if (!(places.read(nodes_, changed) && ...)) return false;
    for (const NodeRow row : changed) changed_[row] = true;
    return true;
  }
  /// True if a cached value of this row must be right: the node exists and did not change since.
  [[nodiscard]] bool must_hold(NodeRow row) const {
    return row < nodes_.size() && nodes_.exists(row) && !changed_[row];
  }

  /// Prepares a Select of the group on a stack with empty caches.
  GroupView& begin(const CompiledJob& job, std::uint32_t group, const SelectOptions& options,
                   std::optional<rank::FitAlgorithm> algorithm = std::nullopt) {
    StackConfig config = stack_config(snapshot_, job, rank::OrderProvider::identity);
    config.sources = EnabledSources::none();
    if (algorithm) config.algorithm = *algorithm;
    fresh_.arena.reset();
    plan_.clear();
    plan_.job = snapshot_.jobs.keys[job.key].current;
    stack_.start(snapshot_, plan_);
    stack_.set_job(job, config);
    static_cast<void>(stack_.set_nodes(fresh_.ready_nodes(snapshot_, job.base_set), job.base_set, "check"));
    return Access::begin_select(stack_, group, options);
  }
  /// True if a source that serves these needs may answer the Select that begin() prepared.
  [[nodiscard]] bool serves_now(Needs served) { return tables::serves(served, Access::parts(stack_).needs); }
  /// Calls visit(job, group position) until it returns true.
  template <class Visit>
  void any_group(Visit visit) const {
    for (tables::VersionRow row = 0; row < snapshot_.jobs.versions.size(); ++row) {
      const CompiledJob* const job = snapshot_.jobs.versions[row].get();
      for (std::uint32_t group = 0; job && group < job->groups.size(); ++group)
        if (visit(*job, group)) return;
    }
  }

  void check_ready() {
    auto& lists = Access::ready(scratch_);
    for (std::size_t set = 0; set < lists.size() && set < snapshot_.base_sets.size(); ++set) {
      const ReadyNodes* const list = lists[set].last;
      const auto& of_state = snapshot_.base_sets[set];
      if (!of_state || of_state->number != lists[set].number) continue;  // its id is another set's now
      if (!list || !list->is_of(nodes_)) continue;
      ReadyNodes fresh;
      fresh.follow(nodes_, *snapshot_.symbols, of_state->key);
      const auto words = [&](const ReadyNodes& of, std::size_t i) {
        const ReadyNodes::Candidate& c = of.candidates[i];
        const tables::NodeCapacity& capacity = of.capacities[c.capacity];
        return std::tuple(c.row, c.computed_class, c.node_class, capacity.cpu_mhz, capacity.memory_mb, capacity.disk_mb,
                          capacity.max_allocs, of.has(c.row));
      };
      bool same = list->size() == fresh.size();
      for (std::size_t i = 0; same && i < fresh.size(); ++i) same = words(*list, i) == words(fresh, i);
      if (!same) problem(fmt::format("ReadyNodes: the list of base set {} is not that of the nodes", set));
    }
  }

  void check_mirrors() {
    for (const auto& [key, mirror] : Access::mirrors(scratch_)) {
      if (mirror.epoch != nodes_.static_epoch) continue;
      tables::ColumnTarget target;
      target.column = std::get<0>(key);
      target.target.kind = std::get<1>(key), target.target.key = std::get<2>(key);
      const ColumnMirror& fresh = fresh_.mirror(snapshot_, target);
      if (mirror.code_of_row != fresh.code_of_row || mirror.text != fresh.text || mirror.ascending != fresh.ascending)
        problem(fmt::format("ColumnMirror: column {} differs from the table's", target.column));
    }
  }

  /// Compares the verdicts by computed class with those by kind, which are cached by content.
  void check_classes() {
    KindVerdicts& verdicts = scratch_.by_content.kind_verdicts;
    if (!nodes_.class_kinds_exact || Access::kinds_left(verdicts) != nodes_.kinds_left) return;
    auto& by_class = Access::by_class(verdicts);
    auto& by_kind = Access::by_kind(verdicts);
    for (std::size_t ask = 0; ask < by_class.size() && ask < by_kind.size(); ++ask)
      for (NodeRow row = 0; row < nodes_.size(); ++row) {
        const tables::NodeCapacity& capacity = nodes_.capacity(row);
        const std::uint32_t code = capacity.computed_class_code, kind = capacity.kind;
        if (!nodes_.exists(row) || code >= by_class[ask].size() || kind >= by_kind[ask].size()) continue;
        const std::uint32_t cached = by_class[ask][code], found = by_kind[ask][kind];
        if (cached == KindVerdicts::kUnknown || found == KindVerdicts::kUnknown || cached == found) continue;
        problem("KindVerdicts", row, text(scratch_, cached), text(scratch_, found));
      }
  }

  void check_volumes() {
    const auto& answers = scratch_.by_state.volume_answers;
    if (answers.epoch != nodes_.static_epoch || answers.of_row.size() != nodes_.size()) return;
    any_group([&](const CompiledJob& job, std::uint32_t group) {
      if (!job.groups[group].has_host_volumes || VolumeCheck::requested(job.groups[group]) != answers.asked)
        return false;
      const SelectOptions options;
      begin(job, group, options);
      if (!serves_now(ByTable::kServes)) return false;
      for (NodeRow row = 0; row < nodes_.size(); ++row) {
        if (answers.of_row[row] == kUnknown || !nodes_.exists(row)) continue;
        const bool has = Access::parts(stack_).checks.volumes.node_has(row);
        if (has != (answers.of_row[row] == kPass))
          problem("VolumeAnswers", row, has ? "none" : "some", has ? "some" : "none");
      }
      return true;
    });
  }

  void check_index(std::uint32_t set) {
    NodeIndex& index = scratch_.by_state.indexes[set];
    if (!Access::is_served(index, nodes_) || !list_changed(Access::place(index))) return;
    const auto& of_state = snapshot_.base_sets[set];
    if (!of_state || of_state->number != Access::base_set(index)) return;  // its id is another set's now
    NodeIndex fresh;
    NodeFeed feed;
    const ReadyNodes& ready = fresh_.ready_nodes(snapshot_, set);
    if (!fresh.sync(snapshot_, ready, of_state->number, feed))
      return problem("NodeIndex: it serves nodes that it cannot");
    for (const std::uint32_t position : Access::left_out(index)) changed_[ready.candidates[position].row] = true;
    for (std::uint32_t i = 0; i < ready.size(); ++i) {
      const NodeRow row = ready.candidates[i].row;
      if (must_hold(row) && Access::amounts(index, i) != Access::amounts(fresh, i))
        problem("NodeIndex", row, "other amounts", "those of the table");
    }
  }

  /// A reason as text, because reason IDs differ between workers.
  static std::string text(const Scratch& of, std::uint32_t reason) { return "'" + of.reasons.text(reason) + "'"; }

  void check_table(const AskTable& table) {
    std::vector<std::int32_t> counts(table.counts.size(), 0);
    std::vector<bool> open(table.of_row.size(), false);
    for (const NodeRow row : table.open) open[row] = true;
    for (NodeRow row = 0; row < table.of_row.size(); ++row) {
      const std::uint64_t known = table.of_row[row];
      if (Known::is_short(known)) ++counts[Known::detail(known)];
      if (table.lists_open && Known::may_have_room(known) && !open[row])
        problem("AskTable", row, "no place among the open ones", "one");
    }
    for (std::size_t at = 0; at < counts.size(); ++at)
      if (counts[at] != table.counts[at].count) problem("AskTable: a count is not that of its nodes");
    const AskKey& key = table.key;
    any_group([&](const CompiledJob& job, std::uint32_t group) {
      const tables::Ask* const ask = job.groups[group].ask.get();
      if (job.group_number + group != key.number && (!ask || ask->number != key.number)) return false;
      SelectOptions options;
      options.evict = key.evicts();
      GroupView& v = begin(job, group, options, key.algorithm);
      if (!(Access::key_of(stack_, v, key.evicts()) == key)) return false;  // the table is of another key
      if (!serves_now(key.evicts() ? ByTable::kServesEvicting : ByTable::kServes)) return false;
      if (table.lists_open) check_filtered(table, v);
      const bool distinct = v.needs.has(Need::distinct_hosts) || v.needs.has(Need::distinct_property);
      if (distinct &&
          (table.job_changes != snapshot_.jobs.keys[job.key].changes || table.static_epoch != nodes_.static_epoch))
        return true;  // the table or its distinct nodes are computed again
      const bool scores = serves_now(KnownResults::kServes);
      if (list_changed(table.use, table.ready)) check_rows(table, v, scores);
      return scores;
    });
  }
  /// Part of a node's placement as a table caches it or a fresh fill finds it.
  struct Part {
    enum class Kind : std::uint8_t { none, room, filtered, lacks_room };
    Kind kind = Kind::none;
    double score = 0;                  // kind room; 0 where scores are not compared
    const std::string* why = nullptr;  // kinds filtered and lacks_room; a text, as reason IDs differ between workers
    std::uint32_t node_class = 0;      // the same kinds

    [[nodiscard]] bool operator==(const Part& other) const {
      if (kind != other.kind) return false;
      if (kind == Kind::room) return std::bit_cast<std::uint64_t>(score) == std::bit_cast<std::uint64_t>(other.score);
      return kind == Kind::none || (*why == *other.why && node_class == other.node_class);
    }
    [[nodiscard]] std::string text() const {
      if (kind == Kind::none) return "no part";
      if (kind == Kind::room) return score == 0 ? "room" : fmt::format("room with score {:a}", score);
      return fmt::format("{} '{}' of class {}", kind == Kind::filtered ? "filtered" : "short", *why, node_class);
    }
  };
  static Part failed_part(const Scratch& of, bool filtered, std::uint32_t why, std::uint32_t node_class) {
    return {filtered ? Part::Kind::filtered : Part::Kind::lacks_room, 0, &of.reasons.text(why), node_class};
  }

  /// `scores`: the group's scores are those of the table as well.
  void check_rows(const AskTable& table, GroupView& v, bool scores) {
    SelectParts& parts = Access::parts(stack_);
    for (NodeRow row = 0; row < table.of_row.size(); ++row) {
      const std::uint64_t known = table.of_row[row];
      if (!must_hold(row) || known >= Known::kPasses || (Known::is_component(known) && fresh_.overlay(row))) continue;
      Part cached, found;
      if (Known::is_component(known))
        cached = {Part::Kind::room, scores ? std::bit_cast<double>(known) : 0};
      else if (Known::is_short(known))
        cached = failed_part(scratch_, table.why(known).filtered, table.why(known).why, table.why(known).node_class);
      if (parts.candidates.nodes->has(row) && parts.checks.first_failing(row, v) == kReasonNone) {
        const ByTable::Decided node = Access::decide(stack_, row, v, table.key.evicts());
        found = node.cell.fit == kPass
                    ? Part{Part::Kind::room, scores ? node.cell.score.sum() : 0}
                    : failed_part(fresh_, node.filtered, node.cell.dimension, nodes_.capacity(row).class_code);
      }
      // Texts only of a difference: they took half the time of programs that check after each evaluation.
      if (cached != found)
        problem(table.key.evicts() ? "AskTable, evicting" : "AskTable", row, cached.text(), found.text());
    }
  }
  void check_filtered(const AskTable& table, GroupView& v) {
    const auto& cached = table.filtered;
    if (cached.evaluated == 0 || cached.epoch != nodes_.epoch || cached.kinds_left != nodes_.kinds_left) return;
    AskTable fresh;
    Access::list_filtered(stack_, fresh, v);
    const auto words = [](const Scratch& of, const auto& filtered) {
      std::vector<std::string> out{std::to_string(filtered.evaluated)};
      for (const AskTable::Filtered& f : filtered.counts)
        out.push_back(fmt::format("{} {} {} {}", f.node_class, text(of, f.reason), f.count, f.by_job));
      std::sort(out.begin() + 1, out.end());
      return fmt::format("{}", fmt::join(out, ", "));
    };
    const std::string lived = words(scratch_, cached), found = words(fresh_, fresh.filtered);
    if (lived != found) problem(fmt::format("AskTable: filtered are {}, by a fresh fill {}", lived, found));
  }

  const Snapshot& snapshot_;
  const NodeTable& nodes_;
  Scratch& scratch_;
  Scratch fresh_;
  GenericStack stack_{fresh_};
  PlanRows plan_;
  std::vector<bool> changed_;  // by node row: list_changed()
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_worker_memory(const Snapshot& snapshot, Scratch& scratch) {
  return MemoryCheck(snapshot, scratch).run();
}

void assert_worker_memory([[maybe_unused]] const Snapshot& snapshot, [[maybe_unused]] Scratch& scratch) {
#ifndef NDEBUG
  if (snapshot.nodes.size() + snapshot.allocs.size() >= 1024) return;
  const std::vector<std::string> problems = check_worker_memory(snapshot, scratch);
  for (const std::string& problem : problems) std::fprintf(stderr, "%s\n", problem.c_str());
  BERTH_ASSERT(problems.empty());
#endif
}

}  // namespace berth::sched
