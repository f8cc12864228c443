-- Azure Packing 2020: virtual machines of one zone, 14 days (github.com/Azure/AzurePublicDataset, CC BY 4.0)
-- input packing_trace: sqlite
--
-- A VM is a batch job of one allocation. Its request is a fraction of a machine, given for each type of machine. All nodes
-- have one type: param machine, by default the type on which most types of VM run. A whole machine is 1,000,000 MHz,
-- 1,000,000 MiB of memory and 1,000,000 MiB of disk (ssd). Priority 0 is 70, 1 is 20. Times are days, perhaps as text. A VM
-- that ran when the window began is submitted at 0, for its remaining time; without an end it stays. There are no nodes in
-- the trace: param nodes.

create temp table machine as
  select param('machine', (select machineId from packing_trace.vmType group by machineId
                           order by count(distinct vmTypeId) desc, machineId limit 1)) as id;
create temp table kinds(vmTypeId primary key, core, memory, ssd) without rowid;
insert or replace into kinds
  select vmTypeId, cast(core as real), cast(coalesce(memory, 0) as real), cast(coalesce(ssd, 0) as real)
  from packing_trace.vmType where machineId = (select id from machine) and cast(core as real) > 0 and vmTypeId is not null;

create temp view vms as
  select cast(starttime as real) as start, case when endtime is not null and endtime <> '' then cast(endtime as real) end
    as finish, priority, core, memory, ssd, case
    when core is null then 'VM whose type does not run on this type of machine'
    when starttime is null or starttime = '' then 'VM without a start'
    when endtime is not null and endtime <> '' and cast(endtime as real) < max(cast(starttime as real), 0)
      then 'VM that ends before it starts'
  end as problem
  from packing_trace.vm v left join kinds k on k.vmTypeId = v.vmTypeId;

create temp view jobs as
  select round(max(start, 0) * 86400, 3) as submit_s, round((finish - max(start, 0)) * 86400, 3) as run_s, 1 as count,
    up(core * 1000000) as cpu_mhz, max(up(memory * 1000000), 1) as memory_mb, max(up(ssd * 1000000), 10) as disk_mb,
    'batch' as type, case priority when 0 then 70 else 20 end as priority
  from vms where problem is null;

create temp view nodes as
  select param('nodes', 1000) as count, 1000000 as cpu_mhz, 1000000 as memory_mb, 1000000 as disk_mb,
    'machine-' || (select id from machine) as class;

create temp view skipped as
  select problem as reason, count(*) as rows from vms where problem is not null group by problem;
