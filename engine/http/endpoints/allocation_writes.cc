// Requests that act on allocations and their tasks (R-API-360, 362, 705).
#include <algorithm>

#include "base/text.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "model/job.h"

namespace berth::http {

namespace {

void stop_alloc(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-360
  const auto no_delay = bool_parameter(request, "no_shutdown_delay", reply);
  if (!no_delay) return;
  const auto reschedule = bool_parameter(request, "reschedule", reply);
  if (!reschedule || !is_whole_id(request.captures[0], "alloc lookup failed: ", reply)) return;
  if (simulation.store().find_alloc(request.captures[0]) == tables::kNoRow)
    return reply.fail(404, "allocation not found");
  const fsm::Answer answer = simulation.apply(living::AllocStop{request.captures[0], *reschedule, *no_delay});
  json::Value out = json::Value::object();
  out.set("EvalID", answer.eval_id), out.set("Index", answer.index);
  send_answer(reply, answer, std::move(out));
}

void answer_client(const fsm::Answer& answer, Reply& reply) {
  if (!answer.error.empty()) return reply.fail(answer.error);
  json::Value out = json::Value::object();
  out.set("Index", 0);
  reply.json(out);
}

void restart_alloc(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = optional_body(request, "AllocationRestartRequest", reply);
  if (!body) return;
  const Expected expected{*body, "AllocationRestartRequest", reply};
  const auto task = expected.text("TaskName");
  const auto all = expected.boolean("AllTasks");
  if (!task || !all || asked_alloc(simulation, request.captures[0], reply) == tables::kNoRow) return;
  answer_client(simulation.apply(living::AllocRestart{request.captures[0], *task, *all}), reply);
}

/// True if a task is a real program, whose signals are those of its node, not one of the mock driver, which takes any.
bool has_program(const model::Allocation& alloc, const std::string& task) {
  const model::TaskGroup* group = alloc.job ? alloc.job->group(alloc.task_group) : nullptr;
  return group && std::any_of(group->tasks.begin(), group->tasks.end(), [&](const model::Task& one) {
           return (task.empty() || one.name == task) && one.driver != "mock_driver";
         });
}

/// True if the signal can be sent, by the attribute of the allocation's node. Without the attribute: any signal. True
/// if the allocation does not run, because that is the client's first check.
bool can_send(Simulation& simulation, tables::AllocRow row, const std::string& task, const std::string& signal) {
  if (signal.empty() || simulation.state().allocs.client[row] != tables::Client::running) return true;
  const model::Allocation alloc = simulation.log().stored_alloc(row);
  const model::Node node = *simulation.log().node(alloc.node_id);
  const auto signals = node.attributes.find("os.signals");
  return signals == node.attributes.end() || !has_program(alloc, task) ||
         ("," + signals->second + ",").find("," + signal + ",") != std::string::npos;
}

void signal_alloc(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = object_body(request, "AllocSignalRequest", reply);
  if (!body) return;
  const Expected expected{*body, "AllocSignalRequest", reply};
  const auto task = expected.text("Task"), name = expected.text("Signal");
  if (!task || !name) return;
  const tables::AllocRow row = asked_alloc(simulation, request.captures[0], reply);
  if (row == tables::kNoRow) return;
  if (!can_send(simulation, row, *task, *name)) return reply.fail("invalid signal " + base::go_quote(*name));
  answer_client(simulation.apply(living::AllocSignal{request.captures[0], *task, *name}), reply);
}

void pause_alloc(Simulation& simulation, const Request& request, Reply& reply) {
  if (asked_alloc(simulation, request.captures[0], reply) != tables::kNoRow) reply.fail(500, "Enterprise only");
}

}  // namespace

void add_allocation_write_routes(Router& router) {
  router.write("/v1/allocation/*/stop", stop_alloc);
  router.add({"/v1/client/allocation/*/restart", kAnyMethod, RouteKind::plain, restart_alloc, {}});
  router.add({"/v1/client/allocation/*/signal", kPut | kPost | kDelete, RouteKind::plain, signal_alloc, {}});
  router.add({"/v1/client/allocation/*/pause", kPut | kPost, RouteKind::plain, pause_alloc, {}});
}

}  // namespace berth::http
