// `berth_mpi PLAN FOLDER DIGEST [--retry]`, started by `berth sweep --on mpi`: rank 0 distributes tasks, the other
// ranks run them. One message requests, one replies with an int: the number of a task, or -1 for "no more".
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>

#include "study/sweep.h"

namespace {

using berth::study::Sweep;

constexpr int kAsk = 1, kAnswer = 2, kNoMore = -1;

/// Sends the next task to each requesting rank, and at the end -1 to each.
void hand_out(const std::vector<std::size_t>& tasks, int ranks) {
  std::size_t next = 0;
  for (int left = ranks - 1; left > 0;) {
    int asked = 0;
    MPI_Status from{};
    MPI_Recv(&asked, 1, MPI_INT, MPI_ANY_SOURCE, kAsk, MPI_COMM_WORLD, &from);
    const int answer = next < tasks.size() ? static_cast<int>(tasks[next++]) : kNoMore;
    if (answer == kNoMore) --left;
    MPI_Send(&answer, 1, MPI_INT, from.MPI_SOURCE, kAnswer, MPI_COMM_WORLD);
  }
}

/// Returns 0, or 1 if a result could not be stored.
int work(const Sweep& sweep, const berth::study::LocalOptions& options) {
  int code = 0;
  while (true) {
    int task = 0;
    MPI_Send(&task, 1, MPI_INT, 0, kAsk, MPI_COMM_WORLD);
    MPI_Recv(&task, 1, MPI_INT, 0, kAnswer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (task == kNoMore) return code;
    if (code != 0) continue;  // e.g. the disk is full: the remaining tasks are not run
    if (const auto done = berth::study::run_local(sweep, {static_cast<std::size_t>(task)}, options); !done)
      code = 1, fmt::print(stderr, "{}\n", done.error().line());
  }
}

int run(int rank, int ranks, const std::vector<std::string>& arguments) {
  auto plan = berth::study::read_plan(arguments[0]);
  const auto sweep = plan ? Sweep::open(std::move(*plan), arguments[1]) : tl::unexpected(plan.error());
  const bool other = sweep && sweep->plan_digest() != arguments[2];
  int fine = sweep && !other ? 1 : 0, all_fine = 0;
  if (!sweep) fmt::print(stderr, "{}\n", sweep.error().line());
  if (other)
    fmt::print(stderr, "{}: rank {} sees another plan, or is another berth; use one file system and one build\n",
               arguments[0], rank);
  MPI_Allreduce(&fine, &all_fine, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_fine == 0) return 2;
  berth::study::LocalOptions options;
  options.processes = 1, options.quiet = true;
  options.retry = arguments.size() > 3 && arguments[3] == "--retry";
  if (ranks == 1) return berth::study::run_local(*sweep, sweep->missing(options.retry), options) ? 0 : 1;
  if (rank > 0) return work(*sweep, options);
  hand_out(sweep->missing(options.retry), ranks);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, code = 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() >= 3)
    code = run(rank, ranks, arguments);
  else if (rank == 0)
    fmt::print(stderr, "berth_mpi: is started by `berth sweep PLAN --on mpi`\n");
  MPI_Finalize();
  return code;
}
