#include "conform/streams/stream_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "conform/evaluation_compare.h"
#include "sched/to_model.h"
#include "server/lane.h"
#include "server/server.h"
#include "tables/export.h"

namespace berth::conform {
namespace {

using json::Value;

server::Config config_of_replay(sched::EnabledSources sources) {
  server::Config config;
  config.sources = sources;
  config.retain = true;
  config.broker.evals = config.broker.jobs = 1;  // nothing is queued
  return config;
}

/// Answers plans like the recorded planner, and applies the recorded deltas to the tables.
class StreamPlanner final : public sched::Planner {
 public:
  StreamPlanner(const Field& attempts, std::span<const StreamDelta> deltas, const StreamState& state,
                const std::set<std::string>& fresh, const model::Evaluation& eval, std::int64_t now,
                server::Server& server, Recording& recording)
      : attempts_(attempts),
        deltas_(deltas),
        state_(state),
        fresh_(fresh),
        eval_(eval),
        now_(now),
        server_(server),
        recording_(recording) {}

  sched::Submission submit(const sched::EvalResult& result) override {
    Recording::Attempt& attempt = recording_.attempts.emplace_back();
    attempt.plan = to_model(naming(result), result, eval_, now_);
    if (attempt.plan.job) attempt.plan.job = stored(attempt.plan.job);
    for (const sched::PlannedAlloc& alloc : result.plan.allocs) add_fresh(alloc.id);
    for (const plan::DroppedAlloc& dropped : result.plan.dropped) add_fresh(dropped.id);
    for (const base::Uuid id : result.plan.followups) add_fresh(id);
    if (attempt.plan.deployment && server_.store().find_deployment(attempt.plan.deployment->id) == tables::kNoRow)
      recording_.fresh_ids.insert(attempt.plan.deployment->id);

    for (auto& [node, allocs] : attempt.plan.node_allocation)
      for (model::Allocation& alloc : allocs)
        if (alloc.job && recording_.fresh_ids.contains(alloc.id)) alloc.job = stored(alloc.job);

    const std::size_t number = recording_.attempts.size() - 1;
    const Field& recorded = attempts_[number];
    sched::Submission out;
    out.error = attempt.error = recorded["PlanError"].as_string();
    attempt.full = recorded["Full"].as_bool(out.error.empty() && recorded.is_null());
    attempt.refused = recorded["Refused"].as_bool();
    if (!attempt.refused) return out;
    out.nothing_committed = recorded["NothingCommitted"].as_bool();
    for (const Field& node : recorded["RefusedNodes"].items()) {
      attempt.refused_nodes.push_back(node.as_string());
      refused_.push_back(server_.store().find_node(node.as_string()));
      if (refused_.back() == tables::kNoRow) node.fail("names no node of the state");
    }
    out.refused_nodes = std::span(refused_).last(attempt.refused_nodes.size());
    if (!out.nothing_committed) identify(attempt.plan, recorded["Plan"]);
    if (number < deltas_.size()) commit(deltas_[number]);
    states_.push_back(server_.store().snapshot());
    out.refreshed = &*states_.back();
    return out;
  }

  std::string create(const sched::EvalResult& result, const sched::CreatedEval& created) override {
    recording_.created.push_back(created_eval(naming(result), result, created, eval_, now_));
    add_fresh(created.id);
    return {};
  }

  /// Commits the remaining deltas, so that the tables have the next line's initial state.
  void commit_rest() {
    while (committed_ < deltas_.size()) commit(deltas_[committed_]);
  }

 private:
  [[nodiscard]] sched::Naming naming(const sched::EvalResult& result) const {
    return {*result.state, server_.lane().scratch};
  }
  /// The present object of a job's version; the tables store its first one, but recordings have the present one.
  [[nodiscard]] std::shared_ptr<const model::Job> stored(const std::shared_ptr<const model::Job>& job) const {
    for (std::size_t i = committed_; i-- > 0;)
      if (auto changed = StreamState::find_version(deltas_[i].objects.job_versions, *job)) return changed;
    auto known = state_.version_of(*job);
    return known ? known : job;
  }
  /// Notes recorded IDs of a partly committed plan, because later plans refer to them.
  void identify(const model::Plan& plan, const Field& recorded) {
    const auto note = [&](const std::string& drawn, const Field& as) {
      if (!drawn.empty() && drawn != as.as_string() && recording_.fresh_ids.contains(drawn))
        recording_.recorded_as.emplace(drawn, as.as_string());
    };
    if (plan.deployment) note(plan.deployment->id, recorded["Deployment"]["ID"]);
    const auto list = [&](const auto& by_node, const Field& entries) {
      std::vector<bool> taken(entries.size());
      for (const auto& [node, allocs] : by_node)
        for (const model::Allocation& alloc : allocs)
          for (std::size_t i = 0; i < entries.size(); ++i) {
            const bool is_new = recording_.fresh_ids.contains(alloc.id);
            if (taken[i] || entries[i]["NodeID"].as_string() != alloc.node_id ||
                (is_new ? entries[i]["Name"].as_string() != alloc.name || !fresh_.contains(entries[i]["ID"].as_string())
                        : entries[i]["ID"].as_string() != alloc.id))
              continue;
            taken[i] = true;
            note(alloc.id, entries[i]["ID"]);
            note(alloc.followup_eval_id, entries[i]["FollowupEvalID"]);
            break;
          }
    };
    list(plan.node_allocation, recorded["NodeAllocation"]);
    list(plan.node_update, recorded["NodeUpdate"]);
  }
  void add_fresh(base::Uuid id) { recording_.fresh_ids.insert(base::to_text(id)); }
  void commit(const StreamDelta& delta) {
    state_.commit(delta, server_.store());
    ++committed_;
  }

  const Field attempts_;
  const std::span<const StreamDelta> deltas_;
  const StreamState& state_;
  const std::set<std::string>& fresh_;  // recorded fresh IDs
  const model::Evaluation& eval_;
  const std::int64_t now_;
  server::Server& server_;
  Recording& recording_;
  std::vector<tables::SnapshotRef> states_;  // needed to read rows of earlier plans
  std::vector<tables::NodeRow> refused_;
  std::size_t committed_ = 0;
};

/// A claim as text, with its allocation's name and node, because IDs are random. `before`: the replaced claim.
std::string claim_text(const model::HostVolumeClaim& claim, std::string_view alloc, std::string_view node,
                       const model::HostVolumeClaim* before) {
  return fmt::format("{}/{} group {} on volume {} ({}) by {} on {}, created at {}, changed at {}, {} ID",
                     claim.namespace_, claim.job_id, claim.task_group_name, claim.volume_id, claim.volume_name, alloc,
                     node, claim.create_index, claim.modify_index,
                     before && before->id == claim.id ? "the same" : "a new");
}

/// The earlier claim of the same job, group and volume.
template <class Claims>
const model::HostVolumeClaim* claim_before(const Claims& claims, const model::HostVolumeClaim& claim) {
  for (const model::HostVolumeClaim& known : claims)
    if (known.namespace_ == claim.namespace_ && known.job_id == claim.job_id && known.volume_id == claim.volume_id &&
        known.task_group_name == claim.task_group_name)
      return &known;
  return nullptr;
}

/// All claims of the tables. Not by way of the whole cluster, which is large next to them.
std::vector<model::HostVolumeClaim> claims_of(const tables::StateStore& store) {
  const tables::JobTable& jobs = store.current().jobs;
  std::vector<model::HostVolumeClaim> out;
  for (tables::JobKeyRow row{0}; row < jobs.claims.size(); ++row)
    for (const auto& claim : jobs.claims_of(row)) out.push_back(*claim);
  return out;
}

/// Commits the plan. Returns the resulting claims as text.
std::set<std::string> commit_claims(const Field& line, const model::Evaluation& eval, const sched::Naming& naming,
                                    const sched::EvalResult& result, server::Server& server) {
  const tables::StateStore& store = server.store();
  const std::vector<model::HostVolumeClaim> before = claims_of(store);
  const std::int64_t now = line["now"].as_int();
  plan::CommitFacts facts;
  facts.index = line["next_index"].as_uint();
  facts.now_ns = now;
  if (server.log().eval(eval.id)) facts.eval = *base::parse_uuid(eval.id);
  const auto deployment = sched::planned_deployment(naming, result, eval.priority, now);
  facts.deployment = deployment ? &*deployment : nullptr;
  plan::ApplyResult applied;
  server.applier().apply(result.plan, facts, applied);
  std::set<std::string> out;
  if (!applied.error.empty()) out.insert("the plan is not committed: " + applied.error);
  for (std::size_t i = 0; applied.error.empty() && i < applied.rejected_nodes.size(); ++i)
    out.insert("the plan is not committed on " + base::to_text(store.current().nodes.id(applied.rejected_nodes[i])) +
               ": " + applied.reasons[i]);
  for (const model::HostVolumeClaim& claim : claims_of(store)) {
    const model::HostVolumeClaim* const known = claim_before(before, claim);
    if (known && *known == claim) continue;
    const auto alloc = server.log().alloc(claim.alloc_id);
    out.insert(claim_text(claim, alloc ? alloc->name : "", alloc ? alloc->node_id : "", known));
  }
  return out;
}

/// Lets the server decide an evaluation and returns its results. `claims`: also commits the plan, if it is the only one
/// and was committed completely.
Recording decide(const Field& line, const model::Evaluation& asked, const model::Evaluation& eval,
                 std::span<const StreamDelta> deltas, const StreamState& state, const std::set<std::string>& fresh,
                 server::ManualClock& clock, server::Server& server,
                 std::optional<std::set<std::string>>* claims = nullptr) {
  clock.set(line["now"].as_int());
  Recording out;
  StreamPlanner planner(line["expect"]["Attempts"], deltas, state, fresh, eval, clock.now_ns(), server, out);
  server.decide(asked, server.lane(), planner);
  const sched::EvalResult& result = server.lane().result;
  const sched::Naming naming{*result.state, server.lane().scratch};
  if (result.has_blocked) out.fresh_ids.insert(base::to_text(result.blocked_id));
  if (result.status == sched::EvalStatus::error)
    out.error = result.description;
  else if (result.reblocked)
    out.reblocked.push_back(sched::reblocked_eval(naming, result, eval));
  else
    out.updated.push_back(sched::updated_eval(naming, result, eval));
  out.port_collision_events = result.port_collision_events;
  if (claims && deltas.empty() && out.attempts.size() == 1 && out.attempts[0].full)
    *claims = commit_claims(line, eval, naming, result, server);
  planner.commit_rest();
  server.lane().held[0].reset();  // rows of removed objects may be reused
  return out;
}

/// The compared part of `expect`, without members that only the replay needs.
Value compared(const Field& expect) {
  Value out = expect;
  for (const Field& attempt : expect["Attempts"].items()) static_cast<void>(attempt.members());
  if (Value* attempts = out.find("Attempts"))
    for (Value& attempt : attempts->items()) attempt.erase("Delta"), attempt.erase("NothingCommitted");
  return out;
}

}  // namespace

struct StreamReplay::Live {
  explicit Live(sched::EnabledSources sources) : server(config_of_replay(sources), clock) {}
  server::ManualClock clock;
  server::Server server;
};

StreamReplay::StreamReplay(std::string path, sched::EnabledSources sources)
    : path_(std::move(path)), live_(std::make_unique<Live>(sources)) {}
StreamReplay::~StreamReplay() = default;

Result<std::unique_ptr<StreamReplay>> StreamReplay::begin(const Field& line, const std::string& path,
                                                          std::size_t number, sched::EnabledSources sources) {
  line.require("init/Index init/Nodes");
  std::unique_ptr<StreamReplay> out(new StreamReplay(path, sources));
  auto state = out->state_.read(line["init"], path, std::to_string(number) + ":/init");
  if (!state) return tl::unexpected(state.error());
  out->state_.apply(*state);
  out->live_->server.load(out->state_.state());
  return out;
}

void StreamReplay::compare_claims(const StreamDelta& delta, std::vector<Difference>& differences) {
  const auto made = std::exchange(claims_, std::nullopt);
  if (!made) return;
  std::set<std::string> recorded;
  for (const model::HostVolumeClaim& claim : delta.objects.host_volume_claims) {
    const auto& allocs = delta.objects.allocs;
    const auto alloc =
        std::find_if(allocs.begin(), allocs.end(), [&](const auto& a) { return a.id == claim.alloc_id; });
    recorded.insert(claim_text(claim, alloc == allocs.end() ? "" : alloc->name,
                               alloc == allocs.end() ? "" : alloc->node_id,
                               claim_before(state_.state().host_volume_claims, claim)));
  }
  const auto without = [](const std::set<std::string>& one, const std::set<std::string>& other) {
    std::string out;
    for (const std::string& text : one)
      if (!other.contains(text)) out += (out.empty() ? "" : "; ") + text;
    return out;
  };
  if (recorded != *made)
    differences.push_back(
        {"claims of the line before", without(recorded, *made), without(*made, recorded), "R-STORE-222"});
}

Result<Outcome> StreamReplay::next(const Field& line, std::size_t number, bool loads) {
  line.require("delta eval expect name now scheduler");
  const std::string place = std::to_string(number) + ":";
  auto delta = state_.read(line["delta"], path_, place + "/delta");
  if (!delta) return tl::unexpected(delta.error());
  std::vector<StreamDelta> between;
  const auto attempts = line["expect"]["Attempts"].items();
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (attempts[i]["Delta"].is_null()) continue;
    auto read = state_.read(attempts[i]["Delta"], path_, place + "/expect/Attempts/" + std::to_string(i) + "/Delta");
    if (!read) return tl::unexpected(read.error());
    between.push_back(std::move(*read));
  }
  model::Evaluation eval;
  if (auto done = from_json(line["eval"], eval); !done) return tl::unexpected(done.error());
  model::Evaluation asked = eval;
  asked.type = line["scheduler"].as_string();

  std::vector<Difference> differences;
  compare_claims(*delta, differences);
  state_.commit(*delta, live_->server.store());
  state_.apply(*delta);
  std::set<std::string> fresh;
  for (const Field& id : line["fresh"].items()) fresh.insert(id.as_string());
  const Value expect = compared(line["expect"]);
  const auto compare = [&](const Recording& recording, const char* where) {
    for (Difference& difference : compare_recording(expect, recording, state_.jobs(), fresh, false)) {
      difference.place.insert(0, where);
      differences.push_back(std::move(difference));
    }
  };
  compare(decide(line, asked, eval, between, state_, fresh, live_->clock, live_->server), "live");
  if (loads) {
    Live loaded(live_->server.config().sources);
    loaded.server.load(state_.state());
    compare(decide(line, asked, eval, between, state_, fresh, loaded.clock, loaded.server, &claims_), "loaded");
  }
  for (const StreamDelta& change : between) state_.apply(change);
  return Outcome::from(std::move(differences));
}

}  // namespace berth::conform
