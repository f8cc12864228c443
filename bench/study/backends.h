// Job files to run sweeps on other engines. Each element there runs `berth sweep PLAN --output FOLDER --element I/N`,
// so only its number is passed; all elements share the folder.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace berth::study {

struct ArrayJob {
  std::string name;                ///< of the job
  std::string program;             ///< path of berth
  std::string plan, folder;        ///< absolute paths
  std::string plan_digest;         ///< an element refuses another plan
  std::size_t elements = 1;        ///< element I of N runs the tasks I, I + N, I + 2 N, ...
  std::size_t at_once = 0;         ///< maximum number of elements at a time; 0: no limit
  bool retry = false;              ///< also repeat failed tasks
  std::string image;               ///< of a container; kubernetes only
  std::vector<std::string> extra;  ///< lines after #SBATCH; slurm only
};

/// The command of an element. `element` is the engine's expression for its number, from 1.
[[nodiscard]] std::string element_command(const ArrayJob& job, const std::string& element);

/// A script for sbatch: an array job that Slurm may requeue.
[[nodiscard]] std::string slurm_script(const ArrayJob& job);
/// A batch job for `nomad job run -json`: a group with one allocation per array element.
[[nodiscard]] std::string nomad_job(const ArrayJob& job);
/// An indexed Job for `kubectl apply -f`, as JSON; plan and folder are on the volume claim `berth`.
[[nodiscard]] std::string kubernetes_job(const ArrayJob& job);

/// Quotes a text as one word of a POSIX shell.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace berth::study
