-- Alibaba cluster-trace-v2018: services and batch jobs of 4,000 machines, 8 days (github.com/alibaba/clusterdata)
-- input batch_task: task_name, instance_num, job_name, task_type, status, start_time, end_time, plan_cpu, plan_mem
-- input container_meta?: container_id, machine_id, time_stamp, app_du, status, cpu_request, cpu_limit, mem_size
-- input machine_meta?: machine_id, time_stamp, failure_domain_1, failure_domain_2, cpu_num, mem_size, status
--
-- cpu: 100 is a core, 1,000 MHz. Memory: 100 is that of the largest machine, param memory_gib; -1 and 101 are invalid.
-- A batch task is a job, submitted when it started: the tasks that it waits for had ended by then. A container is a
-- service from its first row on; later rows are its history, and are left out.

create temp table containers as
  select container_id, min(time_stamp) as time_stamp, cpu_request, mem_size from container_meta group by container_id;
create temp table machines as
  select machine_id, min(time_stamp) as time_stamp, cpu_num, mem_size from machine_meta
  group by machine_id;

create temp view tasks as
  select *, case
    when start_time is null or start_time < 0 then 'batch task without a start'
    when plan_cpu is null or plan_cpu <= 0 then 'batch task without a cpu request'
    when plan_mem is null or plan_mem < 0 or plan_mem > 100 then 'batch task without a valid memory request'
    when coalesce(instance_num, 0) < 1 then 'batch task without instances'
  end as problem from batch_task;

create temp view jobs as
  select start_time as submit_s,
    case when end_time >= start_time and end_time > 0 then end_time - start_time end as run_s,
    instance_num as count, up(plan_cpu * 10) as cpu_mhz,
    max(up(plan_mem / 100.0 * param('memory_gib', 512) * 1024), 1) as memory_mb,
    'batch' as type, 50 as priority, status = 'Failed' and end_time >= start_time and end_time > 0 as failed
  from tasks where problem is null
  union all
  select max(time_stamp, 0), null, 1, up(cpu_request * 10),
    max(up(mem_size / 100.0 * param('memory_gib', 512) * 1024), 1), 'service', 70, 0
  from containers where cpu_request > 0 and mem_size between 0 and 100;

create temp view nodes as
  select count(*) as count, cpu_num * 1000 as cpu_mhz,
    cast(mem_size / 100.0 * param('memory_gib', 512) * 1024 as integer) as memory_mb
  from machines where cpu_num > 0 and mem_size > 0 and mem_size <= 100 group by cpu_num, mem_size;

create temp view skipped as
  select problem as reason, count(*) as rows from tasks where problem is not null group by problem
  union all
  select 'container without a valid request', count(*) from containers
    where not (coalesce(cpu_request, 0) > 0 and coalesce(mem_size, -1) between 0 and 100);
