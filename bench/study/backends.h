// Sweeps on other engines: the job files that each of them takes. What runs there is `berth sweep PLAN --output FOLDER
// --element I/N`, so nothing is passed around but the number of an element; the folder is shared by all of them.
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
  std::size_t at_once = 0;         ///< at most so many elements at a time; 0: as many as there is room for
  bool retry = false;              ///< failed tasks as well
  std::string image;               ///< of a container; kubernetes only
  std::vector<std::string> extra;  ///< lines after #SBATCH; slurm only
};

/// The command of one element; `element` is what the engine puts in place of its number, from 1.
[[nodiscard]] std::string element_command(const ArrayJob& job, const std::string& element);

/// A script for sbatch: an array job that Slurm may requeue.
[[nodiscard]] std::string slurm_script(const ArrayJob& job);
/// A batch job for `nomad job run -json`: a group of as many allocations as there are elements.
[[nodiscard]] std::string nomad_job(const ArrayJob& job);
/// An indexed Job for `kubectl apply -f`, as JSON; plan and folder are on the volume claim `berth`.
[[nodiscard]] std::string kubernetes_job(const ArrayJob& job);

/// A text as one word of a POSIX shell.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace berth::study
