-- Alibaba cluster-trace-gpu-v2025: services for recommendation models, 23,871 instances (github.com/alibaba/clusterdata)
-- input disaggregated_DLRM_trace: header role, cpu_request, gpu_request, memory_request, disk_request, creation_time, scheduled_time, deletion_time
--
-- An instance is a service of one allocation. cpu: vCPU, 1,000 MHz; memory and disk: GiB. Without a creation time it ran
-- when the window began; without a deletion time it stays. Times have noise in their last digits. Not kept: shares of
-- network cards, and the limit of instances of an application per node. The trace has no nodes: param cn_nodes sets the
-- number of nodes with 192 vCPU and 1 TiB, hn_nodes of those with 128 vCPU, 1 TiB and 8 GPUs.

create temp view instances as
  select *, case
    when coalesce(cpu_request, 0) <= 0 then 'instance without a cpu request'
    when coalesce(memory_request, 0) <= 0 then 'instance without a memory request'
    when deletion_time < coalesce(scheduled_time, creation_time, 0) then 'instance that ends before it starts'
  end as problem from disaggregated_DLRM_trace;

create temp view jobs as
  select round(max(coalesce(creation_time, 0), 0), 3) as submit_s,
    round(deletion_time - coalesce(scheduled_time, creation_time, 0), 3) as run_s, 1 as count,
    up(cpu_request * 1000) as cpu_mhz, up(memory_request * 1024) as memory_mb,
    max(up(coalesce(disk_request, 0) * 1024), 10) as disk_mb, 'service' as type, 70 as priority,
    up(coalesce(gpu_request, 0)) as gpus
  from instances where problem is null;

create temp view nodes as
  select param('cn_nodes', 2100) as count, 192000 as cpu_mhz, 1048576 as memory_mb, 16777216 as disk_mb, 'CN' as class,
    0 as gpus, null as gpu_model
  union all select param('hn_nodes', 430), 128000, 1048576, 16777216, 'HN', 8, 'gpu';

create temp view skipped as
  select problem as reason, count(*) as rows from instances where problem is not null group by problem;
