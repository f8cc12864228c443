-- Alibaba cluster-trace-v2026-spot-gpu: jobs of two priorities on 10,412 GPUs (github.com/alibaba/clusterdata)
-- input job_info: header gpu_model, cpu_request, gpu_request, worker_num, submit_time, duration, job_type
-- input node_info?: header gpu_model, gpu_capacity_num, cpu_num
--
-- A job has worker_num allocations, each with cpu_request vCPU of 1,000 MHz and gpu_request GPUs of the model. Memory is
-- not recorded: param memory_gib_per_cpu, of nodes and requests. HP is priority 70, Spot 20. A duration above 15,000,000 s
-- is longer than any window: the job stays. Not kept: that all workers start together.

create temp view listed as
  select *, case
    when submit_time is null or submit_time < 0 then 'job without a submit time'
    when coalesce(worker_num, 0) < 1 then 'job without workers'
    when coalesce(cpu_request, 0) <= 0 then 'job without a cpu request'
    when coalesce(job_type, '') not in ('HP', 'Spot') then 'job of an unknown type'
  end as problem from job_info;

create temp view jobs as
  select submit_time as submit_s, case when duration between 0 and 15000000 then duration end as run_s,
    worker_num as count, up(cpu_request * 1000) as cpu_mhz,
    up(cpu_request * param('memory_gib_per_cpu', 8) * 1024) as memory_mb, 'batch' as type,
    case job_type when 'HP' then 70 else 20 end as priority, up(coalesce(gpu_request, 0)) as gpus, gpu_model
  from listed where problem is null;

create temp view nodes as
  select count(*) as count, cpu_num * 1000 as cpu_mhz,
    cast(cpu_num * param('memory_gib_per_cpu', 8) * 1024 as integer) as memory_mb, gpu_model as class,
    coalesce(gpu_capacity_num, 0) as gpus, gpu_model
  from node_info where cpu_num > 0 group by gpu_model, gpu_capacity_num, cpu_num;

create temp view skipped as
  select problem as reason, count(*) as rows from listed where problem is not null group by problem;
