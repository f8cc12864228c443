-- Alibaba cluster-trace-gpu-v2020 (PAI): machine learning jobs, 6,500 GPUs, 2 months (github.com/alibaba/clusterdata)
-- input pai_task_table: job_name, task_name, inst_num, status, start_time, end_time, plan_cpu, plan_mem, plan_gpu, gpu_type
-- input pai_job_table: job_name, inst_id, user, status, start_time, end_time
-- input pai_group_tag_table?: inst_id, user, gpu_type_spec, group, workload
-- input pai_machine_spec?: machine, gpu_type, cap_cpu, cap_mem, cap_gpu
--
-- cpu: 100 is a core, 1,000 MHz. Memory: GB. plan_gpu, of each instance: 100 is a GPU. A part of a GPU is rounded up to a
-- whole one, because Nomad shares no devices. gpu_type of the task table is the assigned type; the requested one is in the group
-- tag table. Times have a constant offset: the first submission is 0. All machines are there from the start. A task is a
-- job. Not kept: that all tasks of a job run together.

create temp table submitted(job_name primary key, inst_id, start_time) without rowid;
insert or replace into submitted
  select job_name, inst_id, start_time from pai_job_table where start_time > 0 and job_name is not null;
create temp table tags(inst_id primary key, gpu_type_spec) without rowid;
insert or replace into tags
  select inst_id, max(gpu_type_spec) from pai_group_tag_table where inst_id is not null group by inst_id;
create temp table first_submission as select min(start_time) as at from submitted;

create temp view tasks as
  select t.*, j.start_time as submitted_at, g.gpu_type_spec, case
    when coalesce(j.start_time, nullif(t.start_time, 0)) is null then 'task without a time'
    when coalesce(t.inst_num, 0) < 1 then 'task without instances'
    when coalesce(t.plan_cpu, 0) <= 0 then 'task without a cpu request'
    when coalesce(t.plan_mem, 0) <= 0 then 'task without a memory request'
  end as problem
  from pai_task_table t left join submitted j on j.job_name = t.job_name left join tags g on g.inst_id = j.inst_id;

create temp view jobs as
  select max(coalesce(submitted_at, start_time) - (select at from first_submission), 0) as submit_s,
    case when start_time > 0 and end_time >= start_time then end_time - start_time end as run_s,
    cast(inst_num as integer) as count, up(plan_cpu * 10) as cpu_mhz, up(plan_mem * 1024) as memory_mb,
    'batch' as type, 50 as priority,
    status = 'Failed' and coalesce(start_time, 0) > 0 and coalesce(end_time, 0) >= start_time as failed,
    coalesce(up(plan_gpu / 100.0), 0) as gpus, case when plan_gpu > 0 then gpu_type_spec end as gpu_model
  from tasks where problem is null;

create temp view nodes as
  select count(*) as count, cast(cap_cpu * 1000 as integer) as cpu_mhz, cast(cap_mem * 1024 as integer) as memory_mb,
    gpu_type as class, coalesce(cast(cap_gpu as integer), 0) as gpus, gpu_type as gpu_model
  from pai_machine_spec where cap_cpu > 0 and cap_mem > 0 group by cap_cpu, cap_mem, cap_gpu, gpu_type;

create temp view skipped as
  select problem as reason, count(*) as rows from tasks where problem is not null group by problem;
