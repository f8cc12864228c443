-- Google clusterdata-2011-2 (trace version 2.1): a cell of 12,500 machines, 29 days (github.com/google/cluster-data, CC BY 4.0)
-- input task_events: time, missing_info, job_id, task_index, machine_id, event, user, class, priority, cpu, memory, disk, different_machines
-- input machine_events?: time, machine_id, event, platform_id, cpus, memory
--
-- Times are microseconds; the window begins at 600 s, and what happened before is at 0. Amounts are shares of the largest
-- machine: param cpu_cores (of 1,000 MHz), memory_gib and disk_gib. Tasks of a job with equal requests, priority tier and
-- outcome (no end, failed, other end) become one job. Its run time is the mean of its tasks, from the last start (or, without
-- one, the submission) to the end. An eviction is an end only if the task did not start again, because berth decides
-- evictions itself. A task without an end stays. Nodes are all machines that were ever added, with their first
-- capacity. Not kept: constraints on attributes, whose values are hashed, and machines that leave and return.
-- Events: 0 submitted, 1 started, 2 evicted, 3 failed, 4 finished, 5 killed, 6 lost. Machines: 0 added.

create temp table starts as
  select job_id, task_index, min(case when event = 0 then time end) as submitted,
    max(case when event = 1 then time end) as started, max(cpu) as cpu, max(memory) as memory, max(disk) as disk,
    coalesce(max(different_machines), 0) as apart,
    case when max(priority) >= 11 then 90 when max(priority) >= 9 then 70 when max(priority) >= 2 then 40 else 10 end as tier
  from task_events where job_id is not null and task_index is not null group by job_id, task_index;
create temp table ends(job_id, task_index, ended, how, primary key(job_id, task_index)) without rowid;
-- SQLite takes `event` from the row with the greatest time.
insert into ends select job_id, task_index, max(time), event from task_events
  where event between 2 and 6 and job_id is not null and task_index is not null group by job_id, task_index;
create temp table machines as
  select machine_id, min(time), cpus, memory from machine_events where event = 0 group by machine_id;

create temp view listed as
  select s.*, case when e.ended >= coalesce(s.started, s.submitted) and e.ended < 9223372036854775807
      then e.ended - max(coalesce(s.started, s.submitted), 600000000) end as run_us, e.how, case
    when coalesce(s.submitted, s.started) is null then 'task without a submission'
    when coalesce(s.cpu, 0) <= 0 then 'task without a cpu request'
  end as problem
  from starts s left join ends e on e.job_id = s.job_id and e.task_index = s.task_index;

create temp view jobs as
  select max(round(coalesce(min(submitted), min(started)) / 1e6 - 600, 3), 0) as submit_s,
    round(max(avg(run_us), 0) / 1e6, 3) as run_s, count(*) as count,
    up(cpu * 1000 * param('cpu_cores', 64)) as cpu_mhz,
    max(up(coalesce(memory, 0) * param('memory_gib', 256) * 1024), 1) as memory_mb,
    max(up(coalesce(disk, 0) * param('disk_gib', 4096) * 1024), 10) as disk_mb,
    case when run_us is null then 'service' else 'batch' end as type, tier as priority, failed, apart as distinct_hosts
  from (select *, run_us is not null and how = 3 as failed from listed where problem is null)
  group by job_id, cpu, memory, disk, apart, tier, run_us is null, failed;

create temp view nodes as
  select count(*) as count, cast(cpus * 1000 * param('cpu_cores', 64) as integer) as cpu_mhz,
    cast(memory * param('memory_gib', 256) * 1024 as integer) as memory_mb
  from machines where cpus > 0 and memory > 0 group by cpus, memory;

create temp view skipped as
  select problem as reason, count(*) as rows from listed where problem is not null group by problem;
