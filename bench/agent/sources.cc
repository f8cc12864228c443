#include "agent/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/printable.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "run/progress.h"

namespace berth::agent {
namespace {

/// Entries per page of a list.
constexpr int kPageEntries = 1000;
/// Most passes over the lists until nothing has changed. Each pass reads only what changed since the previous one.
constexpr int kPassesMax = 6;
constexpr const char* kCheckAgent = "check that this is an agent of Nomad";

/// A list of the agent, and how to read the objects of its entries.
struct List {
  std::string path;      ///< with its query
  const char* what;      ///< in messages
  bool required;         ///< false: older servers may lack it
  bool has_ids = false;  ///< each entry has an ID, by which the object is read
};

/// Reads one agent's cluster: stores the newest body of every answer by its path.
class Reading {
 public:
  Reading(Connection& connection, const SourceOptions& options)
      : connection_(connection), options_(options), progress_("requests", 0, options.quiet) {}

  Result<void> read() {
    static const List kNodes{"/v1/nodes", "nodes", true, true}, kJobs{"/v1/jobs?namespace=*", "jobs", true, true},
        kAllocs{"/v1/allocations?namespace=*&task_states=false", "allocations", true, true};
    // Lists that contain full objects.
    static const std::vector<List> kWhole = {
        {"/v1/node/pools", "node pools", false},
        {"/v1/namespaces", "namespaces", true},
        {"/v1/operator/scheduler/configuration", "the scheduler configuration", true},
        {"/v1/evaluations?namespace=*", "evaluations", true},
        {"/v1/deployments?namespace=*", "deployments", true},
        {"/v1/volumes/claims?namespace=*", "volume claims", false}};
    static const List kHostVolumes{"/v1/volumes?type=host&namespace=*", "host volumes", false, true},
        kCsiVolumes{"/v1/volumes?type=csi&namespace=*", "CSI volumes", false, true},
        kPlugins{"/v1/plugins?type=csi", "CSI plugins", false, true};

    for (pass_ = 1; pass_ <= kPassesMax; ++pass_) {
      changed_ = 0;
      std::set<std::string> wanted;  // requests of the current pass
      for (const List& list : kWhole)
        if (auto done = take_list(list, [](const json::Value&) {}); !done) return done;
      std::set<std::string> nodes, moved_nodes;
      const auto node_entry = [&](const json::Value& entry) {
        const std::string id = entry["ID"].as_string();
        nodes.insert(id);
        if (is_new("node", id, entry)) wanted.insert("/v1/node/" + escaped(id)), moved_nodes.insert(id);
      };
      if (auto done = take_list(kNodes, node_entry); !done) return done;
      const auto job_entry = [&](const json::Value& entry) {
        const std::string id = entry["ID"].as_string(), name_space = entry["Namespace"].as_string();
        if (!is_new("job", name_space + "/" + id, entry)) return;
        const std::string query = "?namespace=" + escaped(name_space);
        wanted.insert("/v1/job/" + escaped(id) + query);
        wanted.insert("/v1/job/" + escaped(id) + "/versions" + query);
      };
      if (auto done = take_list(kJobs, job_entry); !done) return done;
      std::set<std::string> allocs;
      const auto alloc_entry = [&](const json::Value& entry) {
        const std::string id = entry["ID"].as_string(), node = entry["NodeID"].as_string();
        allocs.insert(id);
        const bool known_node = nodes.contains(node);
        if (!is_new("allocation", id, entry)) return;
        if (known_node)
          moved_nodes.insert(node);
        else
          wanted.insert("/v1/allocation/" + escaped(id));
      };
      if (auto done = take_list(kAllocs, alloc_entry); !done) return done;
      drop_gone("node", nodes), drop_gone("allocation", allocs);
      for (const std::string& node : moved_nodes) wanted.insert("/v1/node/" + escaped(node) + "/allocations");
      const auto by_id = [&](const char* kind, const std::string& prefix) {
        return [&, kind, prefix](const json::Value& entry) {
          const std::string id = entry["ID"].as_string(), name_space = entry["Namespace"].as_string();
          if (is_new(kind, name_space + "/" + id, entry))
            wanted.insert(prefix + escaped(id) + (name_space.empty() ? "" : "?namespace=" + escaped(name_space)));
        };
      };
      if (auto done = take_list(kHostVolumes, by_id("host volume", "/v1/volume/host/")); !done) return done;
      if (auto done = take_list(kCsiVolumes, by_id("CSI volume", "/v1/volume/csi/")); !done) return done;
      if (auto done = take_list(kPlugins, by_id("CSI plugin", "/v1/plugin/csi/")); !done) return done;

      if (wanted.empty() && changed_ == 0) break;
      read_again_ += pass_ == 1 ? 0 : wanted.size();
      planned_ = connection_.requests() + wanted.size();
      for (const std::string& path : wanted)
        if (auto done = take_object(path); !done) return done;
      if (options_.followed) break;
    }
    progress_.finish();
    if (pass_ > kPassesMax) {
      settled_ = false;
      if (!options_.import.allow_partial)
        return error(
            "", fmt::format("changed in each of {} passes, at index {} to {}", kPassesMax, first_index_, last_index_),
            "take one moment instead: nomad operator snapshot save FILE.snap; --allow-partial takes the mixture");
    }
    return {};
  }

  /// Passes the answers to the importer.
  Result<void> hand_to(io::Importer& importer) {
    for (auto& [path, body] : bodies_) {
      if (const bool list =
              path == "/v1/nodes" || path.starts_with("/v1/jobs?") || path.starts_with("/v1/allocations?");
          list)
        continue;  // entries of objects that were read in full
      const std::string name = connection_.address() + path;
      auto answer = parsed(body, path);
      if (!answer) return tl::unexpected(answer.error());
      if (auto done = importer.add_answer(path, std::move(*answer), name); !done) return done;
      body.clear(), body.shrink_to_fit();
    }
    std::string note = connection_.address() + ": read ";
    note += first_index_ == last_index_ ? fmt::format("at index {}", last_index_)
                                        : fmt::format("at index {} to {}", first_index_, last_index_);
    note += fmt::format(" with {} requests", connection_.requests());
    if (read_again_ > 0) note += fmt::format("; {} of them for what changed meanwhile", read_again_);
    if (!settled_) note += "; it went on changing, so objects may be of different moments";
    importer.add_note(std::move(note));
    return {};
  }

 private:
  tl::unexpected<InputError> error(const std::string& path, std::string problem, std::string remedy) const {
    return tl::unexpected(InputError{connection_.address(), path, std::move(problem), std::move(remedy)});
  }

  tl::unexpected<InputError> too_large(const std::string& path) const {
    return error(path, "the cluster has more than " + io::size_words(io::read_limit()) + " of answers",
                 "--max-input 4G allows more; a snapshot needs less: nomad operator snapshot save FILE.snap");
  }

  /// One line for an answer that is none.
  tl::unexpected<InputError> refused(const std::string& path, const Answer& answer) const {
    const std::string text = answer.body.substr(0, answer.body.find('\n')).substr(0, 200);
    const char* remedy = "check that this is an agent of Nomad, and its log";
    if (answer.status == 401 || answer.status == 403)
      remedy = "set NOMAD_TOKEN to a token that may read nodes, jobs, volumes and the scheduler configuration";
    if (answer.status == 429) remedy = "--rate 10 sends fewer requests a second";
    return error(path,
                 fmt::format("answers {}{}{}", answer.status, text.empty() ? "" : ": ", base::printable(text, false)),
                 remedy);
  }

  Result<json::Value> parsed(const std::string& body, const std::string& path) const {
    auto value = io::parse_json(body, connection_.address());
    if (value) return value;
    const InputError& fault = value.error();
    return error(path + (fault.place.empty() ? "" : ":" + fault.place), fault.problem, kCheckAgent);
  }

  Result<Answer> ask(const std::string& path) {
    auto answer = connection_.get(path);
    progress_.update(connection_.requests(), true);
    if (answer && answer->index > 0) {
      first_index_ = first_index_ == 0 ? answer->index : std::min(first_index_, answer->index);
      last_index_ = std::max(last_index_, answer->index);
    }
    return answer;
  }

  Result<void> keep(const std::string& path, std::string body) {
    std::string& kept = bodies_[path];
    bytes_ += body.size() - kept.size();
    if (bytes_ > io::read_limit()) return too_large(path);
    kept = std::move(body);
    return {};
  }

  /// Reads all pages of a list; passes each entry to `each`.
  template <class Each>
  Result<void> take_list(const List& list, const Each& each) {
    json::Array all;
    std::string token;
    std::set<std::string> tokens;
    std::uint64_t list_bytes = 0;
    bool is_list = true;
    do {
      std::string path = list.path + (list.path.find('?') == std::string::npos ? "?" : "&");
      path += fmt::format("per_page={}", kPageEntries);
      if (!token.empty()) path += "&next_token=" + escaped(token);
      auto answer = ask(path);
      if (!answer) return tl::unexpected(answer.error());
      if (answer->status != 200) {
        const bool absent = answer->status == 404 || answer->status == 400 || answer->status == 501;
        if (!list.required && (absent || options_.import.allow_partial)) return {};
        return refused(path, *answer);
      }
      list_bytes += answer->body.size();
      if (list_bytes > io::read_limit()) return too_large(path);
      auto page = parsed(answer->body, path);
      if (!page) return tl::unexpected(page.error());
      is_list = page->is_array();
      if (!is_list && !page->is_object() && !page->is_null())
        return error(path, std::string("expected ") + list.what + ", got " + page->kind(), kCheckAgent);
      if (is_list)
        for (json::Value& entry : page->items()) {
          if (list.has_ids && !entry["ID"].is_string())
            return error(path, std::string("lists ") + list.what + " without an ID", kCheckAgent);
          each(entry), all.push_back(std::move(entry));
        }
      else
        all.assign(1, std::move(*page));
      token = is_list ? std::move(answer->next_token) : "";
      if (!token.empty() && page->size() == 0)  // else a list without an end would take no memory
        return error(path, "names a further page after an empty one", kCheckAgent);
      if (!token.empty() && !tokens.insert(token).second) return error(path, "names the same page twice", kCheckAgent);
    } while (!token.empty());
    std::string text = is_list ? json::to_text(json::Value(std::move(all))) : json::to_text(all[0]);
    const auto before = bodies_.find(list.path);
    changed_ += before == bodies_.end() || before->second != text;
    return keep(list.path, std::move(text));
  }

  /// Reads an object of a list. One removed meanwhile is left out; the next pass over the lists does not list it.
  Result<void> take_object(const std::string& path) {
    progress_.update(connection_.requests(), true);
    auto answer = ask(path);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status == 404) {
      bodies_.erase(path);
      // A node that is still listed is read again. Without it the cluster would look smaller than it is.
      if (path.starts_with("/v1/node/") && std::count(path.begin(), path.end(), '/') == 3)
        versions_.erase({"node", path.substr(9)});
      return {};
    }
    if (answer->status != 200) return refused(path, *answer);
    return keep(path, std::move(answer->body));
  }

  /// True if the entry's object was not read yet, or changed since.
  bool is_new(const char* kind, const std::string& id, const json::Value& entry) {
    std::uint64_t index = entry["ModifyIndex"].as_uint();
    if (const json::Value* job = entry.find("JobModifyIndex")) index = std::max(index, job->as_uint());
    const auto [at, fresh] = versions_.try_emplace({kind, id}, index);
    if (!fresh && at->second == index) return false;
    at->second = index;
    return true;
  }

  /// Drops objects that are no longer in the lists.
  void drop_gone(const char* kind, const std::set<std::string>& there) {
    for (auto it = versions_.lower_bound({kind, ""}); it != versions_.end() && it->first.first == kind;) {
      const std::string& id = it->first.second;
      if (there.contains(id)) {
        ++it;
        continue;
      }
      bodies_.erase(std::string("/v1/") + kind + "/" + escaped(id));
      bodies_.erase(std::string("/v1/") + kind + "/" + escaped(id) + "/allocations");
      it = versions_.erase(it);
    }
  }

  Connection& connection_;
  const SourceOptions& options_;
  run::Progress progress_;
  std::map<std::string, std::string> bodies_;                              ///< by path
  std::map<std::pair<std::string, std::string>, std::uint64_t> versions_;  ///< kind, ID -> ModifyIndex
  std::uint64_t first_index_ = 0, last_index_ = 0, planned_ = 0, bytes_ = 0;
  std::size_t read_again_ = 0, changed_ = 0;
  int pass_ = 1;
  bool settled_ = true;
};

}  // namespace

Result<io::ClusterImport> import_sources(const std::vector<std::string>& sources, const SourceOptions& options) {
  io::Importer importer(sources.size() == 1);
  for (const std::string& source : sources) {
    if (!is_address(source)) {
      if (auto done = importer.add(source); !done) return tl::unexpected(done.error());
      continue;
    }
    Settings settings = settings_from_environment(source);
    settings.requests_per_second = options.requests_per_second, settings.timeout_s = options.timeout_s;
    settings.wanted = options.wanted;
    auto connection = Connection::open(settings);
    if (!connection) return tl::unexpected(connection.error());
    Reading reading(**connection, options);
    auto done = reading.read();
    if (done) done = reading.hand_to(importer);
    if (!done) return tl::unexpected(done.error());
  }
  return importer.finish(sources.size() == 1 ? sources[0] : "sources", options.import);
}

}  // namespace berth::agent
