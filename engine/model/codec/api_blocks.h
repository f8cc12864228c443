// The API layer's defaults of the blocks that the model retains as JSON (R-REG-140 to 143, 250). Part of api_defaults.
#pragma once

#include <string>

#include "base/json.h"

namespace berth::model {

/// Services of a group (`task` empty) or of one of its tasks.
void fill_api_services(const std::string& job, const std::string& group, const std::string& task, json::Value& owner);
/// Other blocks of a task. Vault's namespace is the job's if the task names none.
void fill_api_task_blocks(const std::string& vault_namespace, json::Value& task);
void fill_api_consul(const std::string& consul_namespace, json::Value& owner);
/// Resources of a task or of a sidecar task (R-MODEL-229).
void fill_api_resources(json::Value& task);
void fill_api_logs(json::Value& task);
/// Job blocks: links, regions.
void fill_api_job_blocks(json::Value& job);

/// Describes a mount that names a volume but no destination, which crashes the request in Nomad; "" if there is none.
[[nodiscard]] std::string mount_problem(const json::Value& job);

}  // namespace berth::model
