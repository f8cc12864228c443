// Stores the whole state in a file and restores it (/v1/berth/snapshot, restore). Files have simple names in one
// folder, which the command line determines, so that no request chooses where to write. `nomad operator snapshot save`
// gets the cluster in Nomad's own format (/v1/operator/snapshot).
#include <algorithm>
#include <filesystem>
#include <new>

#include "base/base64.h"
#include "base/sha256.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "http/simulation.h"
#include "http/snapshot.h"
#include "io/output.h"

namespace berth::http {

namespace {

constexpr std::size_t kFilesMost = 64;

/// The path of the file named in the body; nullopt: the reply contains the error.
std::optional<std::string> snapshot_path(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string& folder = simulation.options().snapshots;
  if (folder.empty()) {
    reply.fail(400, "this server has no folder for snapshots; start berth serve with --snapshots FOLDER");
    return std::nullopt;
  }
  const auto body = object_body(request, "Snapshot", reply);
  if (!body) return std::nullopt;
  const auto name = Expected{*body, "Snapshot", reply}.text("Name");
  if (!name) return std::nullopt;
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (!name->empty() && name->size() <= 64 && name->find_first_not_of(kLetters) == std::string::npos)
    return folder + "/" + *name + ".json";
  reply.fail(400, "Name must be 1 to 64 letters, digits, _ or -, for example {\"Name\": \"before-the-drain\"}");
  return std::nullopt;
}

bool has_room(const std::string& path, Reply& reply) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return true;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path(), ignored))
    files += entry.path().extension() == ".json";
  if (files < kFilesMost) return true;
  reply.fail(400, "the folder for snapshots holds " + std::to_string(files) + " files; write over one of them");
  return false;
}

/// Writes on another thread. Replies {"Error"} on failure; an existing file is then unchanged.
void write_snapshot(Simulation& simulation, const Request& request, Reply& reply) {
  const auto path = snapshot_path(simulation, request, reply);
  if (!path || !has_room(*path, reply)) return;
  auto parts = std::make_shared<const SnapshotParts>(take_parts(simulation));
  reply.stream(Where::questions, [parts, path = *path](std::string& out) {
    const std::string text = json::to_text(snapshot_json(*parts));
    json::Value answer = json::Value::object();
    if (const auto written = io::write_output(path, text); written) {
      answer.set("Name", std::filesystem::path(path).stem().string()), answer.set("Bytes", text.size());
      answer.set("Index", parts->state->index), answer.set("Now", parts->now_ns);
    } else {
      answer.set("Error", written.error().line());
    }
    out += json::to_text(answer);
    return false;
  });
}

void read_back(Simulation& simulation, const Request& request, Reply& reply) {
  const auto path = snapshot_path(simulation, request, reply);
  if (!path) return;
  auto restored = read_snapshot(*path);
  if (!restored) return reply.fail(400, restored.error().line());
  restore(simulation, std::move(*restored));
  json::Value answer = json::Value::object();
  answer.set("Name", std::filesystem::path(*path).stem().string());
  answer.set("Index", simulation.state().index), answer.set("Now", simulation.now());
  reply.json(answer);
}

/// R-STORE-335. The file is made by another thread, and whole before its first byte is sent: its digest precedes it.
void save_for_nomad(Simulation& simulation, const Request&, Reply& reply) {
  auto parts = std::make_shared<const SnapshotParts>(take_parts(simulation));
  simulation.post_question([&simulation, parts = std::move(parts), deliver = reply.later()] {
    auto answer = std::make_shared<Reply>();
    try {
      std::string file = nomad_snapshot(*parts);
      base::Sha256 sum;
      sum.add(file);
      answer->header("Digest", "sha-256=" + base::to_base64(sum.bytes()));
      answer->text(200, std::move(file), "application/x-gzip");
      answer->never_compress();
    } catch (const std::bad_alloc&) {
      answer->fail(500, "out of memory: the snapshot of this cluster is too large");
    }
    simulation.post_read([deliver, answer](Simulation&) { deliver(std::move(*answer)); });
  });
}

}  // namespace

void add_berth_snapshot_routes(Router& router) {
  router.add({"/v1/operator/snapshot", kGet, RouteKind::plain, save_for_nomad, {}});
  router.add({"/v1/operator/snapshot",
              kPut,
              RouteKind::plain,
              refusal(501, "restoring is not supported; start berth serve with the snapshot as its cluster"),
              {}});
  router.add({"/v1/berth/snapshot", kPut | kPost, RouteKind::plain, write_snapshot, {}});
  router.add({"/v1/berth/restore", kPut | kPost, RouteKind::plain, read_back, {}});
}

}  // namespace berth::http
