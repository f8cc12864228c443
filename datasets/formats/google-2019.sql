-- Google clusterdata-2019 (trace version 3): eight cells of 10,000 machines, a month (github.com/google/cluster-data, CC BY 4.0)
-- input instance_events: lines
-- input machine_events?: lines
--
-- Times are microseconds; the window begins at 600 s, and what happened before is at 0. Amounts are shares of the largest
-- machine: param cpu_cores (of 1,000 MHz) and memory_gib. Tasks of a job with equal requests, priority tier and outcome
-- (no end, failed, other end) become one job. Its run time is the mean of its tasks, from the last start (or, without
-- one, the submission) to the end. An eviction is an end only if the task did not start again, because berth decides
-- evictions itself. A task without an end stays. Nodes are all machines that were ever added, with their first
-- capacity. Instances of alloc sets are reservations and count as tasks; tasks within them are left out.
-- Not kept: constraints on attributes, whose values are hashed, limits per machine and switch, dependencies between
-- collections, and machines that leave and return. Numbers may be texts; an absent one is 0.
-- Events: 0 submitted, 2 eligible, 3 started, 4 evicted, 5 failed, 6 finished, 7 killed, 8 lost. Machines: 1 added.

create temp view parsed as
  select cast(json_extract(line, '$.time') as integer) as time,
    coalesce(cast(json_extract(line, '$.type') as integer), 0) as event,
    cast(json_extract(line, '$.collection_id') as integer) as job_id,
    coalesce(cast(json_extract(line, '$.instance_index') as integer), 0) as task_index,
    coalesce(cast(json_extract(line, '$.priority') as integer), 0) as priority,
    coalesce(cast(json_extract(line, '$.alloc_collection_id') as integer), 0) as within,
    cast(json_extract(line, '$.resource_request.cpus') as real) as cpu,
    cast(json_extract(line, '$.resource_request.memory') as real) as memory
  from instance_events where line <> '';
create temp table starts as
  select job_id, task_index,
    coalesce(min(case when event = 2 then time end), min(case when event = 0 then time end)) as submitted,
    max(case when event = 3 then time end) as started, max(cpu) as cpu, max(memory) as memory,
    case when max(priority) >= 360 then 90 when max(priority) >= 120 then 70 when max(priority) >= 116 then 50
      when max(priority) >= 100 then 30 else 10 end as tier
  from parsed where within = 0 and job_id is not null group by job_id, task_index;
create temp table ends(job_id, task_index, ended, how, primary key(job_id, task_index)) without rowid;
-- SQLite takes `event` from the row with the greatest time.
insert into ends select job_id, task_index, max(time), event from parsed
  where event between 4 and 8 and within = 0 and job_id is not null group by job_id, task_index;
create temp table machines as
  select cast(json_extract(line, '$.machine_id') as integer) as machine_id,
    min(cast(json_extract(line, '$.time') as integer)),
    cast(json_extract(line, '$.capacity.cpus') as real) as cpus,
    cast(json_extract(line, '$.capacity.memory') as real) as memory
  from machine_events where cast(json_extract(line, '$.type') as integer) = 1 group by machine_id;

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
    case when run_us is null then 'service' else 'batch' end as type, tier as priority, failed
  from (select *, run_us is not null and how = 5 as failed from listed where problem is null)
  group by job_id, cpu, memory, tier, run_us is null, failed;

create temp view nodes as
  select count(*) as count, cast(cpus * 1000 * param('cpu_cores', 64) as integer) as cpu_mhz,
    cast(memory * param('memory_gib', 256) * 1024 as integer) as memory_mb
  from machines where cpus > 0 and memory > 0 group by cpus, memory;

create temp view skipped as
  select problem as reason, count(*) as rows from listed where problem is not null group by problem
  union all
  select 'event of a task within an alloc set', count(*) from parsed where within <> 0;
