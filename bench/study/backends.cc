#include "study/backends.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace berth::study {
namespace {

/// A valid Kubernetes name for a job: lower case letters, digits and '-', at most 50.
std::string plain_name(const std::string& name) {
  std::string out = "berth";
  for (const char c : "-" + name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool fine = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (fine || out.back() != '-') out += fine ? lower : '-';
  }
  out.resize(std::min<std::size_t>(out.size(), 50));
  while (out.back() == '-') out.pop_back();
  return out;
}

}  // namespace

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string("/._-+=,:").find(c) != std::string::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string element_command(const ArrayJob& job, const std::string& element) {
  return fmt::format("{} sweep {} --output {} --plan-digest {} --quiet{} --element {}/{}", shell_word(job.program),
                     shell_word(job.plan), shell_word(job.folder), job.plan_digest, job.retry ? " --retry" : "",
                     element, job.elements);
}

std::string slurm_script(const ArrayJob& job) {
  std::string out = "#!/bin/sh\n";
  out += fmt::format("#SBATCH --job-name={}\n#SBATCH --array=1-{}", plain_name(job.name), job.elements);
  if (job.at_once > 0) out += fmt::format("%{}", job.at_once);
  // A restarted element finds the records of its first try and continues after them.
  out += fmt::format(
      "\n#SBATCH --requeue\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=1\n#SBATCH --output={}/logs/%A_%a.log\n",
      job.folder);
  for (const std::string& line : job.extra) out += "#SBATCH " + line + "\n";
  return out + "exec " + element_command(job, "\"$SLURM_ARRAY_TASK_ID\"") + "\n";
}

std::string nomad_job(const ArrayJob& job) {
  using json::Array;
  using json::Object;
  // NOMAD_ALLOC_INDEX counts from 0.
  const std::string command = "exec " + element_command(job, "$((NOMAD_ALLOC_INDEX + 1))");
  const Object task{{"Name", "sweep"},
                    {"Driver", "raw_exec"},
                    {"Config", Object{{"command", "/bin/sh"}, {"args", Array{"-c", command}}}},
                    {"Resources", Object{{"CPU", 1000}, {"MemoryMB", 1024}}}};
  const Object group{{"Name", "sweep"},
                     {"Count", static_cast<std::uint64_t>(job.elements)},
                     {"RestartPolicy", Object{{"Attempts", 2},
                                              {"Mode", "fail"},
                                              {"Interval", std::int64_t{86'400'000'000'000}},
                                              {"Delay", std::int64_t{15'000'000'000}}}},
                     {"ReschedulePolicy", Object{{"Attempts", 3},
                                                 {"Interval", std::int64_t{86'400'000'000'000}},
                                                 {"Delay", std::int64_t{30'000'000'000}},
                                                 {"DelayFunction", "constant"},
                                                 {"Unlimited", false}}},
                     {"Tasks", Array{task}}};
  const Object out{{"Job", Object{{"ID", plain_name(job.name)},
                                  {"Name", plain_name(job.name)},
                                  {"Type", "batch"},
                                  {"Datacenters", Array{"*"}},
                                  {"TaskGroups", Array{group}}}}};
  return json::to_text(out, 2) + "\n";
}

std::string kubernetes_job(const ArrayJob& job) {
  using json::Array;
  using json::Object;
  const std::string command = "exec " + element_command(job, "$((JOB_COMPLETION_INDEX + 1))");
  const Object container{{"name", "sweep"},
                         {"image", job.image},
                         {"command", Array{"/bin/sh", "-c", command}},
                         {"resources", Object{{"requests", Object{{"cpu", "1"}, {"memory", "1Gi"}}}}},
                         {"volumeMounts", Array{Object{{"name", "berth"}, {"mountPath", job.folder}}}}};
  const Object pod{
      {"restartPolicy", "OnFailure"},
      {"containers", Array{container}},
      {"volumes", Array{Object{{"name", "berth"}, {"persistentVolumeClaim", Object{{"claimName", "berth"}}}}}}};
  const auto elements = static_cast<std::uint64_t>(job.elements);
  const Object out{
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", Object{{"name", plain_name(job.name)}}},
      {"spec", Object{{"completionMode", "Indexed"},
                      {"completions", elements},
                      {"parallelism", job.at_once > 0 ? static_cast<std::uint64_t>(job.at_once) : elements},
                      {"backoffLimit", 20},
                      {"template", Object{{"spec", pod}}}}}};
  return json::to_text(out, 2) + "\n";
}

}  // namespace berth::study
