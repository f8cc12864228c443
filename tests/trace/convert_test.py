"""`berth trace convert`: small files made by hand in the format of each public trace, with its quirks.

    convert_test.py BERTH SOURCE_DIR

All values are invented. Every expected row can be computed by hand from the rows above it.
"""
import csv
import gzip
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

berth, source = sys.argv[1], sys.argv[2]
scratch = tempfile.mkdtemp()
failures = []


def expect(name, condition, *what):
    if not condition:
        failures.append(name)
        print("BROKEN: %s: %s" % (name, " ".join(map(str, what))), flush=True)


def write(name, text):
    path = os.path.join(scratch, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if name.endswith(".gz"):
        gzip.open(path, "wb").write(text.encode())
    else:
        open(path, "w", newline="").write(text)
    return path


def convert(form, *arguments, nodes=True):
    """Exit code, output, errors; rows of the jobs and of the nodes as lists of dictionaries, or None."""
    out = {"jobs": scratch + "/out.csv", "nodes": scratch + "/nodes.csv"}
    for path in out.values():
        if os.path.exists(path):
            os.remove(path)
    done = subprocess.run([berth, "trace", "convert", form, *arguments, "-o", out["jobs"],
                           *(["--nodes", out["nodes"]] if nodes else [])],
                          capture_output=True, text=True, cwd=source, timeout=120)
    rows = {name: list(csv.DictReader(open(path))) if os.path.exists(path) else None for name, path in out.items()}
    return done.returncode, done.stdout, done.stderr, rows["jobs"], rows["nodes"]


def compare(name, rows, expected):
    """`expected`: one "key=value ..." per row; other columns are not compared. The order of rows is free."""
    if rows is None:
        return expect(name, False, "no rows")
    keys = [pair.split("=")[0] for pair in expected[0].split()] if expected else []
    number = lambda text: ("%.3f" % float(text)).rstrip("0").rstrip(".") if text.replace(".", "", 1).isdigit() else text
    got = sorted(" ".join("%s=%s" % (key, number(row[key])) for key in keys) for row in rows)
    expect(name, got == sorted(expected), "\n  got      %s\n  expected %s" %
           ("\n           ".join(got), "\n           ".join(sorted(expected))))


# ---------------------------------------------------------------- Alibaba 2018
# Positions, no header; a container's later rows are its history; -1 and 101 are invalid; end 0: it still runs.
tasks = ["M1,10,j_1,1,Terminated,100,200,100.0,0.5", "R2_1,2,j_1,1,Terminated,200,260,50,0.3",
         "J3_1_2,1,j_1,1,Running,260,0,50,0.3",
         "task_QUJDRA==,1,j_2,1,Failed,150,180,100,0.2", "M1,1,j_3,1,Terminated,1,2,100,101",
         "M1,1,j_4,1,Terminated,1,2,,1", "M1,,j_5,1,Waiting,1,2,100,1"]
batch = write("2018/batch_task.csv", "\n".join(tasks) + "\n")
containers = write("2018/container_meta.csv",
                   "c_1,m_1,50,app_12,started,800,800,1.56\nc_1,m_1,0,app_12,started,400,800,1.56\nc_2,m_1,0,app_1,started,,800,-1\n")
machines = write("2018/machine_meta.csv",
                 "m_1,0,7,3,96,100,USING\nm_1,900,7,3,64,100,USING\nm_2,0,8,3,96,100,USING\nm_3,0,8,3,96,101,USING\n")
code, output, errors, jobs, nodes = convert("alibaba-2018", batch, containers, machines)
expect("2018", code == 0, code, errors)
# 0.005 x 512 GiB = 2621.44 MiB
compare("2018 jobs", jobs, ["submit_s=100 run_s=100 count=10 cpu_mhz=1000 memory_mb=2622 type=batch failed=0",
                            "submit_s=200 run_s=60 count=2 cpu_mhz=500 memory_mb=1573 type=batch failed=0",
                            "submit_s=260 run_s= count=1 cpu_mhz=500 memory_mb=1573 type=batch failed=0",
                            "submit_s=150 run_s=30 count=1 cpu_mhz=1000 memory_mb=1049 type=batch failed=1",
                            "submit_s=0 run_s= count=1 cpu_mhz=4000 memory_mb=8179 type=service failed=0"])
compare("2018 nodes", nodes, ["count=2 cpu_mhz=96000 memory_mb=524288"])
expect("2018", "5 jobs, 15 allocations" in output, output)
for reason in ("1: batch task without a valid memory request", "1: batch task without a cpu request",
               "1: batch task without instances",
               "1: container without a valid request", "memory_gib"):
    expect("2018 report", reason in output, reason, output)
# Independent sums over the raw rows, and the order of rows is free.
valid = [row.split(",") for row in tasks if row.split(",")[7] and row.split(",")[1]
         and 0 <= float(row.split(",")[8]) <= 100]
expect("2018 sums", sum(int(row["count"]) * int(row["cpu_mhz"]) for row in jobs if row["type"] == "batch") ==
       sum(int(row[1]) * float(row[7]) * 10 for row in valid))
shuffled = tasks[:]
random.Random(1).shuffle(shuffled)
again = convert("alibaba-2018", "batch_task=" + write("2018/other.csv", "\n".join(shuffled)), containers, machines)
expect("2018 order", sorted(map(str, again[3])) == sorted(map(str, jobs)))
code, output, errors, half, nodes = convert("alibaba-2018", batch, machines, "--set", "memory_gib=256")
compare("2018 scale", nodes, ["count=2 cpu_mhz=96000 memory_mb=262144"])

# ---------------------------------------------------------------- Alibaba 2020
# Every number is a float, empty fields; the job table has the submission; the tag table has the requested type.
code, output, errors, jobs, nodes = convert(
    "alibaba-2020",
    write("2020/pai_task_table.csv",
          "j0,worker,2.0,Terminated,100.0,900.0,600.0,16.0,50.0,T4\nj0,ps,1.0,Terminated,100.0,905.0,400.0,8.0,,\n"
          "j1,tensorflow,1.0,Waiting,,,1200.0,60.0,200.0,V100\nj2,w,1.0,Failed,200.0,210.0,100.0,1.5,150.0,T4\nj3,w,1.0,Running,0.0,,100.0,,,\nj4,w,1.0,Waiting,,,100.0,1.0,,\n"),
    write("2020/pai_job_table.csv",
          "j0,i0,u0,Terminated,90.0,905.0\nj1,i1,u1,Waiting,120.0,\nj3,i3,u,Running,130.0,\n"),
    write("2020/pai_group_tag_table.csv.gz", "i1,u1,V100M32,g1,nlp\ni1,u1,V100M32,g1,nlp\n"),
    write("2020/pai_machine_spec.csv", "m0,T4,96,512,2\nm1,CPU,64,512,0\nm2,T4,96,512,2\n"))
expect("2020", code == 0, code, errors)
compare("2020 jobs", jobs, ["submit_s=0 run_s=800 count=2 cpu_mhz=6000 memory_mb=16384 gpus=1 gpu_model= failed=0",
                            "submit_s=0 run_s=805 count=1 cpu_mhz=4000 memory_mb=8192 gpus=0 gpu_model= failed=0",
                            "submit_s=30 run_s= count=1 cpu_mhz=12000 memory_mb=61440 gpus=2 gpu_model=V100M32 failed=0",
                            "submit_s=110 run_s=10 count=1 cpu_mhz=1000 memory_mb=1536 gpus=2 gpu_model= failed=1"])
compare("2020 nodes", nodes, ["count=2 cpu_mhz=96000 memory_mb=524288 class=T4 gpus=2 gpu_model=T4",
                              "count=1 cpu_mhz=64000 memory_mb=524288 class=CPU gpus=0 gpu_model=CPU"])
expect("2020 report", "1: task without a memory request" in output and "1: task without a time" in output, output)

# ---------------------------------------------------------------- Alibaba 2025
# A header, bound by name; noise in the last digits; no creation: it ran before; no deletion: it stays.
head = ("instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,memory_limit,"
        "disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time\n")
code, output, errors, jobs, nodes = convert("alibaba-2025", write("2025/disaggregated_DLRM_trace.csv", "\ufeff" + head +
    "instance_0,HN,app_0,10,10,1,1,20,20,96.0,96.0,500.0,600.0,4,,,\r\n"
    "instance_1,CN,app_0,32,32,0,0,1,1,128.0,128.0,200.0,250.0,-1,100.00000000000001,101.0,\r\n"
    "instance_2,CN,app_1,4,4,0,0,1,1,24.0,24.0,60.0,60.0,2,200.0,210.0,950.0\r\n"
    "instance_3,HN,app_1,10,10,1,1,20,20,96.0,96.0,500.0,600.0,2,,,1234.0\r\n"
    "instance_4,HN,app_1,10,10,1,1,20,20,96.0,96.0,500.0,600.0,2,300,310,305\r\n"), "--set", "hn_nodes=7")
expect("2025", code == 0, code, errors)
compare("2025 jobs", jobs, ["submit_s=0 run_s= cpu_mhz=10000 memory_mb=98304 disk_mb=512000 gpus=1 type=service",
                            "submit_s=100 run_s= cpu_mhz=32000 memory_mb=131072 disk_mb=204800 gpus=0 type=service",
                            "submit_s=200 run_s=740 cpu_mhz=4000 memory_mb=24576 disk_mb=61440 gpus=0 type=service",
                            "submit_s=0 run_s=1234 cpu_mhz=10000 memory_mb=98304 disk_mb=512000 gpus=1 type=service"])
compare("2025 nodes", nodes, ["count=2100 cpu_mhz=192000 class=CN gpus=0", "count=7 cpu_mhz=128000 class=HN gpus=8"])
expect("2025 report", "1: instance that ends before it starts" in output, output)

# ---------------------------------------------------------------- Alibaba 2026
# Column order of the file differs from the documentation's; a duration longer than any window does not end.
code, output, errors, jobs, nodes = convert(
    "alibaba-2026",
    write("2026/node_info_df.csv",
          "gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,128,0\nA100-SXM4-80GB,8,128,1\nA10,1,128,2\n"),
    write("2026/job_info_df.csv",
          "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
          "1,3,A10,6,1,1,0,86400,HP\n2,5,A100-SXM4-80GB,12,1,24,120,7200,Spot\n3,5,A10,12,1,1,130,15897599,HP\n4,5,A10,12,1,1,130,1,Other\n"))
expect("2026", code == 0, code, errors)
compare("2026 jobs", jobs,
        ["submit_s=0 run_s=86400 count=1 cpu_mhz=6000 memory_mb=49152 gpus=1 gpu_model=A10 priority=70",
                            "submit_s=120 run_s=7200 count=24 cpu_mhz=12000 memory_mb=98304 gpus=1 gpu_model=A100-SXM4-80GB priority=20",
                            "submit_s=130 run_s= count=1 cpu_mhz=12000 memory_mb=98304 gpus=1 gpu_model=A10 priority=70"])
compare("2026 nodes", nodes, ["count=2 cpu_mhz=128000 memory_mb=1048576 class=A10 gpus=1",
                              "count=1 cpu_mhz=128000 memory_mb=1048576 class=A100-SXM4-80GB gpus=8"])
expect("2026 report", "1: job of an unknown type" in output, output)

# The result is a workload: checked, and run on its own nodes.
done = subprocess.run([berth, "trace", "check", scratch + "/out.csv"], capture_output=True, text=True)
expect("check", done.returncode == 0 and "3 jobs of 3 kinds, 26 allocations" in done.stdout, done)
workload = write("w.toml",
                 'name = "w"\ndepartures = true\n[cluster]\ngenerator = "trace"\nfile = "nodes.csv"\n[jobs]\ngenerator = "trace"\n'
                 'file = "out.csv"\n[arrivals]\nprocess = "trace"\n')
done = subprocess.run([berth, "run", workload, "--quiet"], capture_output=True, text=True)
# 8 GPUs for 24 workers of one job: 16 wait until the first 8 have ended.
expect("run", done.returncode == 0 and "placed      26 of 26" in done.stdout
       and "16 allocations departed" in done.stdout, done.stdout, done.stderr)

# ---------------------------------------------------------------- Azure Packing 2020
# Fractions of a machine type, NULL amounts, times as text, a start before the window, no end.
path = scratch + "/packing_trace_zone_a_v1.sqlite"
db = sqlite3.connect(path)
db.executescript("""
create table vm(vmId integer, tenantId integer, vmTypeId integer, priority integer, starttime, endtime);
create table vmType(id integer, vmTypeId integer, machineId integer, core real, memory real, hdd real, ssd real, nic real);
insert into vmType values(0,10,1,0.5,0.25,NULL,0.1,0.05),(1,10,2,0.25,0.125,NULL,0.05,0.05),(2,11,1,0.333333333333,0.03,NULL,NULL,NULL),
  (3,12,3,1,1,1,1,1);
insert into vm values(1,100,10,0,'-3.5','20.25'),(2,100,11,1,0.0,0.01),(3,101,11,1,2.5,NULL),(4,101,12,0,0,1),(5,101,11,0,-2,-1),(6,1,11,0,NULL,1);
""")
db.commit()
db.close()
code, output, errors, jobs, nodes = convert("azure-packing-2020", path, "--set", "nodes=3")
expect("Azure", code == 0, code, errors)
compare("Azure jobs", jobs, ["submit_s=0 run_s=1749600 cpu_mhz=500000 memory_mb=250000 disk_mb=100000 priority=70",
                             "submit_s=0 run_s=864 cpu_mhz=333334 memory_mb=30000 disk_mb=10 priority=20",
                             "submit_s=216000 run_s= cpu_mhz=333334 memory_mb=30000 disk_mb=10 priority=20"])
compare("Azure nodes", nodes, ["count=3 cpu_mhz=1000000 memory_mb=1000000 disk_mb=1000000 class=machine-1"])
for reason in ("1: VM whose type does not run on this type of machine", "1: VM that ends before it starts",
               "1: VM without a start"):
    expect("Azure report", reason in output, reason, output)
code, output, errors, jobs, nodes = convert("azure-packing-2020", path, "--set", "machine=2")
compare("Azure machine 2", jobs, ["submit_s=0 cpu_mhz=250000 memory_mb=125000"])

# ---------------------------------------------------------------- Google 2011
# Events: 0 submitted, 1 started, 2 evicted, 3 failed, 4 finished. Equal tasks of a job are one job. 2^63 - 1 is after
# the window.
events = ["0,2,1001,0,5,1,u,3,9,0.125,0.0625,0.0005,0",
          "650000000,,1002,0,,0,u,0,0,0.0125,0.016,0.0002,1", "651000000,,1002,0,5,1,u,0,0,0.0125,0.016,0.0002,1",
          "700000000,,1002,0,5,4,u,0,0,0.0125,0.016,0.0002,1",
          "650000000,,1002,1,,0,u,0,0,0.0125,0.016,0.0002,1", "655000000,,1002,1,5,1,u,0,0,0.0125,0.016,0.0002,1",
          "706000000,,1002,1,5,4,u,0,0,0.0125,0.016,0.0002,1",
          # evicted, started again, failed
          "700000000,,1003,0,,0,u,0,11,0.5,0.5,,0", "701000000,,1003,0,5,1,u,0,11,0.5,0.5,,0",
          "710000000,,1003,0,5,2,u,0,11,0.5,0.5,,0",
          "712000000,,1003,0,,0,u,0,11,0.5,0.5,,0", "713000000,,1003,0,5,1,u,0,11,0.5,0.5,,0",
          "723000000,,1003,0,5,3,u,0,11,0.5,0.5,,0",
          # evicted and started again, still running
          "700000000,,1004,0,,0,u,0,4,0.25,0.5,,0", "701000000,,1004,0,5,1,u,0,4,0.25,0.5,,0",
          "702000000,,1004,0,5,2,u,0,4,0.25,0.5,,0", "703000000,,1004,0,5,1,u,0,4,0.25,0.5,,0",
          "9223372036854775807,,1004,0,5,4,u,0,4,0.25,0.5,,0", "700000000,,1005,0,,0,u,0,4,,,,0"]
parts = [write("task_events/part-0000%d-of-00500.csv.gz" % part, "\n".join(events[part * 8:part * 8 + 8]) + "\n")
         for part in range(3)]
machines = write("machine_events/part-00000-of-00001.csv.gz",
                 "0,5,0,cGxhdGZvcm0=,0.5,0.25\n900000000,5,1,cGxhdGZvcm0=,0.5,0.25\n950000000,5,0,cGxhdGZvcm0=,1,1\n")
code, output, errors, jobs, nodes = convert("google-2011", *parts, machines)
expect("2011", code == 0, code, errors)
compare("2011 jobs", jobs,
        ["submit_s=0 run_s= count=1 cpu_mhz=8000 memory_mb=16384 disk_mb=2098 type=service priority=70 failed=0 distinct_hosts=0",
                            "submit_s=50 run_s=50 count=2 cpu_mhz=800 memory_mb=4195 disk_mb=839 type=batch priority=10 failed=0 distinct_hosts=1",
                            "submit_s=100 run_s=10 count=1 cpu_mhz=32000 memory_mb=131072 disk_mb=10 type=batch priority=90 failed=1 distinct_hosts=0",
                            "submit_s=100 run_s= count=1 cpu_mhz=16000 memory_mb=131072 disk_mb=10 type=service priority=40 failed=0 distinct_hosts=0"])
compare("2011 nodes", nodes, ["count=1 cpu_mhz=32000 memory_mb=65536"])
expect("2011 report", "1: task without a cpu request" in output, output)

# ---------------------------------------------------------------- Google 2019
# JSON lines; numbers as texts or numbers; an absent type is 0; other codes than 2011; tasks within alloc sets are left
# out.
instances = write("instance_events-000000000000.json.gz", "\n".join([
    '{"time":"0","collection_id":"99","priority":"200","instance_index":"0","resource_request":{"cpus":0.02,"memory":0.01}}',
    '{"time":"600000900","type":"3","collection_id":"99","priority":"200","instance_index":"0","machine_id":"7","resource_request":{"cpus":0.02,"memory":0.01}}',
    '{"time":650000000,"type":0,"collection_id":100,"priority":105,"resource_request":{"cpus":0.5,"memory":0.25}}',
    '{"time":660000000,"type":2,"collection_id":100,"priority":105,"resource_request":{"cpus":0.5,"memory":0.25}}',
    '{"time":661000000,"type":3,"collection_id":100,"priority":105,"resource_request":{"cpus":0.5,"memory":0.25}}',
    '{"time":"671500000","type":"5","collection_id":"100","priority":"105","resource_request":{"cpus":0.5,"memory":0.25}}',
    '{"time":"650000000","type":"0","collection_id":"101","alloc_collection_id":"98","alloc_instance_index":"0","resource_request":{"cpus":0.5}}']) + "\n")
machines = write("machine_events-000000000000.json",
                 '{"time":"0","machine_id":"7","type":"1","switch_id":"sw1","capacity":{"cpus":0.5,"memory":0.25},"platform_id":"p1"}\n'
                 '{"time":"0","machine_id":"8","type":"1"}\n{"time":"5","machine_id":"7","type":"2"}\n')
code, output, errors, jobs, nodes = convert("google-2019", instances, machines)
expect("2019", code == 0, code, errors)
compare("2019 jobs", jobs, ["submit_s=0 run_s= count=1 cpu_mhz=1280 memory_mb=2622 type=service priority=70 failed=0",
                            "submit_s=60 run_s=10.5 count=1 cpu_mhz=32000 memory_mb=65536 type=batch priority=30 failed=1"])
compare("2019 nodes", nodes, ["count=1 cpu_mhz=32000 memory_mb=65536"])
expect("2019 report", "1: event of a task within an alloc set" in output, output)

# ---------------------------------------------------------------- an own format, and what cannot be converted
own = write("own.sql", "-- Mine\n-- input rows: header when, cores\n-- input more?: a, b\ncreate temp view jobs as\n"
            "  select \"when\" as submit_s, cores * param('mhz', 1000) as cpu_mhz, 64 as memory_mb from rows where \"when\" <> 'never';\n")
rows = write("rows.csv", "cores,when,note\n2,5,x\n1,,y\n0.5,7,\n")
code, output, errors, jobs, nodes = convert(own, rows, "--set", "mhz=2000", nodes=False)
compare("own", jobs, ["submit_s=5 cpu_mhz=4000 memory_mb=64", "submit_s=7 cpu_mhz=1000 memory_mb=64"])
listed = subprocess.run([berth, "trace", "convert", "--list"], capture_output=True, text=True, cwd=source).stdout
expect("list", [line.split()[0] for line in listed.splitlines()] ==
       ["alibaba-2018", "alibaba-2020", "alibaba-2025", "alibaba-2026", "azure-packing-2020", "google-2011",
        "google-2019"], listed)
text = write("2026/text.csv", "no table at all\n")
for name, pattern, *arguments in (
        ("none", "there is no such format; did you mean 'google-2011'", "google-2012", rows),
        ("path", "no/such.sql: there is no such format", "no/such.sql", rows),
        ("missing", "no file for the input 'pai_task_table'", "alibaba-2020", "pai_job_table=" + rows),
        ("file", "is none of the files of this format by its name; write NAME=FILE", "alibaba-2020", rows),
        ("no file", "is no file", "alibaba-2018", "batch_task=" + scratch + "/none.csv"),
        ("column", "has no column 'gpu_model'", "alibaba-2026", "job_info=" + rows),
        ("cut", "cut.csv:2: has 3 fields instead of 9", "alibaba-2018", "batch_task=" +
         write("cut.csv", tasks[0] + "\nM1,1,j\n")),
        ("damaged", "is damaged or cut off", "alibaba-2018", "batch_task=" +
         shutil.copy(parts[0], scratch + "/cut.gz")),
        ("NUL", "nul.csv:2: has a NUL byte", "alibaba-2018", "batch_task=" +
         write("nul.csv", tasks[0] + "\nM1\0,1,j\n" + tasks[1] + "\n")),
        ("comma", "row 1: 'v,100' is no word for a line of CSV",
         write("comma.sql",
               "-- input rows: header gpu_model\ncreate temp view jobs as select 0 as submit_s, 1 as cpu_mhz, 1 as memory_mb, 'v,100' as gpu_model;"), rows),
        ("empty", "finds nothing in these files", "alibaba-2018", "batch_task=" + write("empty.csv", "")),
        ("words", "finds nothing in these files", "alibaba-2018", "batch_task=" +
         write("words.csv", "a,b,c,d,e,f,g,h,i\n")),
        ("database", "not a database", "azure-packing-2020", rows),
        ("parameter", "'memory' is no parameter of", "alibaba-2018", batch, "--set", "memory=1"),
        ("assignment", "'memory' is not NAME=VALUE", "alibaba-2018", batch, "--set", "memory"),
        ("nodes", "the format has no nodes", own, rows),
        ("no input", "names no input", write("bare.sql", "select 1;"), rows),
        ("SQL", "syntax error", write("wrong.sql", "-- input rows: header when\ncreate nothing;"), rows),
        ("view", "has the column 'cpu'",
         write("view.sql", "-- input rows: header when\ncreate temp view jobs as select 1 as cpu;"), rows)):
    if name == "damaged":
        whole = open(scratch + "/cut.gz", "rb").read()
        open(scratch + "/cut.gz", "wb").write(whole[:len(whole) // 2])
    code, output, errors, jobs, nodes = convert(*arguments, nodes=name == "nodes")
    expect(name, code == 2 and pattern in errors and len(errors.strip().splitlines()) == 1, code, errors)
    expect(name, not os.path.exists(scratch + "/out.csv.part") and jobs is None, "a file is left")

# Empty lines are passed over wherever they are.
whole, spaced = write("whole.csv", "\n".join(tasks[:4]) + "\n"), write("spaced.csv", "\n" + "\n\n".join(tasks[:4]) +
                                                                       "\n\n")
expect("empty lines", len(convert("alibaba-2018", "batch_task=" + whole, nodes=False)[3]) == 4)
expect("empty lines", convert("alibaba-2018", "batch_task=" + spaced, nodes=False)[3] ==
       convert("alibaba-2018", "batch_task=" + whole, nodes=False)[3])
# If the nodes cannot be made, the jobs are not written either.
half = write("half.sql",
             "-- input rows: header when\ncreate temp view jobs as select 0 as submit_s, 1 as cpu_mhz, 1 as memory_mb;\n"
             "create temp view nodes as select 1 as count where 0;")
code, output, errors, jobs, nodes = convert(half, rows)
expect("half", code == 2 and jobs is None and nodes is None and not os.path.exists(scratch + "/out.csv.part"), code,
       errors)

shutil.rmtree(scratch)
sys.exit(1 if failures else 0)
