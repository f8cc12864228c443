// Search by prefix of IDs, and fuzzy search by names (R-API-560 to 564).
#include <algorithm>
#include <map>

#include "base/text.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/id_prefix.h"
#include "http/endpoints/objects.h"
#include "http/stores/rights.h"
#include "http/stores/stores.h"
#include "model/job.h"

namespace berth::http {

namespace {

using fsm::Table;
using tables::kNoRow;

constexpr std::size_t kMatches = 20;
constexpr const char* kContexts[] = {"allocs",         "jobs",       "nodes",      "node_pools",
                                     "evals",          "deployment", "plugins",    "volumes",
                                     "scaling_policy", "vars",       "namespaces", "host_volumes"};

bool is_context(std::string_view name) {
  return std::any_of(std::begin(kContexts), std::end(kContexts), [&](const char* known) { return name == known; });
}

/// The highest index of the searched tables (R-API-52).
std::uint64_t index_of(Simulation& simulation, std::string_view context) {
  const fsm::StateLog& log = simulation.log();
  const auto table = [&](Table of, std::string_view name) {
    return context == "all" || context == name ? log.table_index(of) : 0;
  };
  return std::max({table(Table::jobs, "jobs"), table(Table::evals, "evals"), table(Table::allocs, "allocs"),
                   table(Table::nodes, "nodes"), table(Table::deployment, "deployment"),
                   table(Table::node_pools, "node_pools"), table(Table::namespaces, "namespaces"), std::uint64_t{1}});
}

/// Results of a search by context.
struct Found {
  json::Value matches = json::Value::object(), truncations = json::Value::object();

  /// Adds at most twenty IDs.
  void add(const char* context, const std::vector<std::string>& ids, bool more) {
    json::Value list;
    for (const std::string& id : ids) list.push(id);
    matches.set(context, std::move(list)), truncations.set(context, more);
  }
};

json::Value answer_of(Found found, std::uint64_t index) {
  json::Value out = json::Value::object();
  out.set("Matches", std::move(found.matches)), out.set("Truncations", std::move(found.truncations));
  out.set("Index", index), out.set("KnownLeader", true), out.set("LastContact", 0), out.set("NextToken", "");
  return out;
}

/// True if a token may search a context: it needs the right to list its objects (R-STORE-168).
bool may_search(const Rights& has, const std::string& name_space, std::string_view context) {
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    Capabilities wanted = 0;
    for (const std::string_view name : names) wanted |= namespace_capability(name);
    return has.in_namespace(name_space, wanted);
  };
  if (context == "nodes") return has.node(Rights::Level::read);
  if (context == "node_pools") return has.any_node_pool(node_pool_capability("read"));
  if (context == "namespaces") return has.in_namespace("*", ~kDeny);
  if (context == "volumes") return one_of({"csi-list-volume", "csi-read-volume", "list-jobs", "read-job"});
  if (context == "host_volumes") return one_of({"host-volume-read"});
  if (context == "plugins") return has.plugin_list();
  if (context == "vars") return has.any_variable(name_space, ~kDeny);
  if (context == "scaling_policy") return one_of({"list-scaling-policies", "list-jobs", "read-job"});
  return one_of({"read-job"});
}

class Search {
 public:
  Search(Simulation& simulation, const Request& request, std::string prefix)
      : simulation_(simulation), state_(simulation.state()), request_(request), prefix_(std::move(prefix)) {}

  void jobs(Found& out) const {
    std::vector<std::pair<std::string, std::string>> found;  // ordered by namespace first
    for (tables::JobKeyRow key = 0; key < state_.jobs.keys.size(); ++key)
      if (const auto& job = state_.jobs.objects[key]; job && in_scope(job->namespace_) && job->id.starts_with(prefix_))
        found.emplace_back(job->namespace_, job->id);
    std::sort(found.begin(), found.end());
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < std::min(found.size(), kMatches); ++i) ids.push_back(found[i].second);
    out.add("jobs", ids, found.size() > kMatches);
  }

  void names(const char* context, const std::vector<std::string>& all, Found& out) const {
    std::vector<std::string> found;
    for (const std::string& name : all)
      if (name.starts_with(prefix_)) found.push_back(name);
    const bool more = found.size() > kMatches;
    if (more) found.resize(kMatches);
    out.add(context, found, more);
  }

  void variables(Found& out) const {  // R-STORE-17
    std::vector<std::string> found;
    const Capabilities lists = variable_capability("list");
    for (const VariableRef& variable : simulation_.stores().variables().list(request_.name_space, prefix_))
      if (found.size() <= kMatches &&
          request_.may([&](const Rights& has) { return has.variable(variable->name_space, variable->path, lists); }))
        found.push_back(variable->path);
    const bool more = found.size() > kMatches;
    if (more) found.resize(kMatches);
    out.add("vars", found, more);
  }

  /// `id(row)`: nil if there is none in scope. An invalid prefix finds nothing, and the context has no key.
  template <class Id>
  void ids(const char* context, std::size_t rows, Id id, Found& out) const {
    std::string even = prefix_;
    const auto digits = even.size() - static_cast<std::size_t>(std::count(even.begin(), even.end(), '-'));
    if (digits % 2 != 0) even.pop_back();  // R-API-562
    const auto prefix = IdPrefix::parse(even);
    if (!prefix) return;
    std::vector<base::Uuid> found;
    for (std::size_t row = 0; row < rows; ++row)
      if (const base::Uuid one = id(row); !one.is_nil() && prefix->matches(one)) found.push_back(one);
    std::sort(found.begin(), found.end());
    const bool more = found.size() > kMatches;
    if (more) found.resize(kMatches);
    std::vector<std::string> texts;
    for (const base::Uuid one : found)
      if (begins_with(one, prefix_)) texts.push_back(base::to_text(one));
    out.add(context, texts, more);
  }

  [[nodiscard]] bool in_scope(std::string_view name_space) const { return request_.shows(name_space); }
  /// True if the sender may search this context (R-STORE-168).
  [[nodiscard]] bool may(std::string_view context) const {
    return request_.may([&](const Rights& has) { return may_search(has, request_.name_space, context); });
  }
  /// The names that the sender may see.
  [[nodiscard]] std::vector<std::string> visible_pools() const {
    return seen(pool_names(state_), [](const Rights& has, const std::string& name) {
      return has.node_pool(name, node_pool_capability("read"));
    });
  }
  [[nodiscard]] std::vector<std::string> visible_namespaces() const {
    return seen(namespace_names(state_),
                [](const Rights& has, const std::string& name) { return has.sees_namespace(name); });
  }
  [[nodiscard]] const tables::Snapshot& state() const { return state_; }

 private:
  template <class Sees>
  [[nodiscard]] std::vector<std::string> seen(std::vector<std::string> names, Sees sees) const {
    std::erase_if(names, [&](const std::string& name) {
      return !request_.may([&](const Rights& has) { return sees(has, name); });
    });
    return names;
  }

  Simulation& simulation_;
  const tables::Snapshot& state_;
  const Request& request_;
  const std::string prefix_;
};

void search_context(const Search& search, std::string_view context, Found& out) {
  const tables::Snapshot& state = search.state();
  const auto asked = [&](std::string_view name) { return (context == "all" || context == name) && search.may(name); };
  const base::Uuid none{};
  if (asked("jobs")) search.jobs(out);
  if (asked("node_pools")) search.names("node_pools", search.visible_pools(), out);
  if (asked("namespaces")) search.names("namespaces", search.visible_namespaces(), out);
  if (asked("evals"))
    search.ids(
        "evals", state.evals.size(),
        [&](std::size_t row) {
          const auto eval = static_cast<tables::StoredEvalRow>(row);
          return state.evals.exists(eval) && search.in_scope(state.namespace_of_eval(eval)) ? state.evals.id[row]
                                                                                            : none;
        },
        out);
  if (asked("allocs"))
    search.ids(
        "allocs", state.allocs.size(),
        [&](std::size_t at) {
          const auto row = static_cast<tables::AllocRow>(at);
          if (!state.allocs.exists(row)) return none;
          const tables::JobKey& job = state.jobs.keys[state.allocs.job_key[row]];
          return search.in_scope(state.text(job.job_namespace)) ? state.allocs.id[row] : none;
        },
        out);
  if (asked("nodes"))
    search.ids(
        "nodes", state.nodes.size(),
        [&](std::size_t at) {
          const auto row = static_cast<tables::NodeRow>(at);
          return state.nodes.exists(row) ? state.nodes.id(row) : none;
        },
        out);
  if (asked("deployment"))
    search.ids(
        "deployment", state.deployments.size(),
        [&](std::size_t row) {
          const auto& deployment = state.deployments.object[row];
          return deployment && search.in_scope(deployment->namespace_) ? state.deployments.id[row] : none;
        },
        out);
  if (asked("scaling_policy")) search.names("scaling_policy", scaling_policy_ids(state), out);
  if (asked("vars")) search.variables(out);
  for (const char* empty : {"plugins", "volumes", "host_volumes"})
    if (asked(empty)) out.add(empty, {}, false);
}

void search(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = object_body(request, "SearchRequest", reply);
  if (!body) return;
  const std::string& context = body_member(*body, "Context").as_string();
  if (context != "all" && !is_context(context))
    return reply.fail("context must be one of [" +
                      base::join(std::vector<std::string>(std::begin(kContexts), std::end(kContexts)), " ") +
                      "] or 'all' for all contexts; got \"" + context + "\"");
  Found found;
  const Search search(simulation, request, body_member(*body, "Prefix").as_string());
  if (context != "all" && !search.may(context)) return reply.fail(403, "Permission denied");
  search_context(search, context, found);
  const std::uint64_t index = found.matches.size() == 0 ? 0 : index_of(simulation, context);
  reply.index(index);
  reply.json(answer_of(std::move(found), index));
}

// ---------------------------------------------------------------- fuzzy

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// Names that contain a text, best first: by position of the text, then by length.
class Fuzzy {
 public:
  explicit Fuzzy(std::string_view text) : text_(lower(text)) {}

  void look_at(const std::string& context, const std::string& name, std::vector<std::string> scope) {
    const std::size_t at = lower(name).find(text_);
    if (at != std::string::npos) found_[context].push_back({at, name, std::move(scope)});
  }

  void write(Found& out) {
    for (auto& [context, matches] : found_) {
      std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
        if (a.at != b.at || a.name.size() != b.name.size())
          return std::pair(a.at, a.name.size()) < std::pair(b.at, b.name.size());
        return std::tie(a.name, a.scope) < std::tie(b.name, b.scope);
      });
      json::Value list;
      for (const Match& match : matches) {
        json::Value one = json::Value::object(), scope;
        one.set("ID", match.name);
        for (const std::string& part : match.scope) scope.push(part);
        if (!match.scope.empty()) one.set("Scope", std::move(scope));
        list.push(std::move(one));
      }
      out.matches.set(context, std::move(list)), out.truncations.set(context, false);
    }
  }

 private:
  struct Match {
    std::size_t at;
    std::string name;
    std::vector<std::string> scope;
  };
  const std::string text_;
  std::map<std::string, std::vector<Match>> found_;
};

void look_at_task(const model::Task& task, const std::vector<std::string>& scope, Fuzzy& out) {
  out.look_at("tasks", task.name, scope);
  std::vector<std::string> inside = scope;
  inside.push_back(task.name);
  if (const std::string& image = task.config["image"].as_string(); !image.empty()) out.look_at("images", image, inside);
  if (const std::string& command = task.config["command"].as_string(); !command.empty())
    out.look_at("commands", command, inside);
}

/// The first twenty of a table in its order (R-API-564).
template <class Row, class Before>
std::vector<Row> first_rows(std::vector<Row> rows, Before before) {
  const auto most = std::min(rows.size(), kMatches);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(most), rows.end(), before);
  rows.resize(most);
  return rows;
}

void look_at_jobs(const Search& search, const std::function<bool(std::string_view)>& asked, Fuzzy& out) {
  const tables::Snapshot& state = search.state();
  std::vector<std::shared_ptr<const model::Job>> jobs;
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key)
    if (const auto& job = state.jobs.objects[key]; job && search.in_scope(job->namespace_)) jobs.push_back(job);
  jobs = first_rows(std::move(jobs), [](const auto& a, const auto& b) {
    return std::tie(a->namespace_, a->id) < std::tie(b->namespace_, b->id);
  });
  for (const auto& job : jobs) {
    if (asked("jobs")) out.look_at("jobs", job->name, {job->namespace_, job->id});
    for (const model::TaskGroup& group : job->task_groups) {
      if (asked("jobs")) out.look_at("groups", group.name, {job->namespace_, job->id});
      if (!asked("jobs")) continue;
      for (const model::Task& task : group.tasks) look_at_task(task, {job->namespace_, job->id, group.name}, out);
    }
  }
}

void look_at_rows(Simulation& simulation, const Search& search, const std::function<bool(std::string_view)>& asked,
                  Fuzzy& out) {
  const tables::Snapshot& state = search.state();
  if (asked("nodes")) {
    std::vector<tables::NodeRow> rows;
    for (tables::NodeRow row = 0; row < state.nodes.size(); ++row)
      if (state.nodes.exists(row)) rows.push_back(row);
    for (const auto row :
         first_rows(std::move(rows), [&](auto a, auto b) { return state.nodes.id(a) < state.nodes.id(b); }))
      if (const auto node = simulation.log().node(base::to_text(state.nodes.id(row)))) {
        out.look_at("nodes", node->name, {node->id});
        if (!node->node_class.empty()) out.look_at("classes", node->node_class, {node->id});
      }
  }
  if (asked("allocs")) {
    std::vector<tables::AllocRow> rows;
    for (tables::AllocRow row = 0; row < state.allocs.size(); ++row)
      if (state.allocs.exists(row) &&
          search.in_scope(state.text(state.jobs.keys[state.allocs.job_key[row]].job_namespace)))
        rows.push_back(row);
    for (const auto row :
         first_rows(std::move(rows), [&](auto a, auto b) { return state.allocs.id[a] < state.allocs.id[b]; })) {
      const model::Allocation alloc = simulation.log().stored_alloc(row);
      out.look_at("allocs", alloc.name, {alloc.namespace_, alloc.id});
    }
  }
  if (asked("node_pools"))
    for (const std::string& name : search.visible_pools()) out.look_at("node_pools", name, {});
  if (asked("namespaces"))
    for (const std::string& name : search.visible_namespaces()) out.look_at("namespaces", name, {});
}

void search_fuzzy(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = object_body(request, "FuzzySearchRequest", reply);
  if (!body) return;
  const std::string& text = body_member(*body, "Text").as_string();
  std::string context = body_member(*body, "Context").as_string();
  if (text.size() < 2)
    return reply.fail("fuzzy search query must be at least 2 characters, got " + std::to_string(text.size()));
  if (context.empty()) context = "all";
  const Search search(simulation, request, text);
  if (context != "all" && !search.may(context)) return reply.fail(403, "Permission denied");
  const auto asked = [&](std::string_view name) { return (context == "all" || context == name) && search.may(name); };
  Found found;
  Fuzzy fuzzy(text);
  look_at_jobs(search, asked, fuzzy);
  look_at_rows(simulation, search, asked, fuzzy);
  fuzzy.write(found);
  for (const char* by_id : {"evals", "deployment"}) {  // these have only IDs
    Found of;
    if (asked(by_id)) search_context(search, by_id, of);
    for (const json::Value& id : of.matches[by_id].items()) {
      json::Value one = json::Value::object();
      one.set("ID", id);
      if (!found.matches.has(by_id)) found.matches.set(by_id, json::Value::array());
      found.matches.find(by_id)->push(std::move(one));
      found.truncations.set(by_id, of.truncations[by_id]);
    }
  }
  const std::uint64_t index = index_of(simulation, context);
  reply.index(index);
  reply.json(answer_of(std::move(found), index));
}

}  // namespace

void add_search_routes(Router& router) {
  router.add({"/v1/search", kPut | kPost, RouteKind::read, search, {}});
  router.add({"/v1/search/fuzzy", kPut | kPost, RouteKind::read, search_fuzzy, {}});
}

}  // namespace berth::http
