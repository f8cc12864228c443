# A real Slurm on this machine, in a folder of its own: to be sourced. `slurm_start FOLDER [LINE...]` starts munged,
# slurmctld and slurmd on free ports, with LINEs added to slurm.conf, and sets SLURM_CONF; `slurm_stop` ends them.
# `slurmd_start` starts the daemon of the node, again where it was killed; slurmd_pid is its process. Nothing outside
# the folder is touched.
slurm_pids=()
slurmd_pid=

slurmd_start() {
  slurmd -D -f "$SLURM_CONF" -N "$(hostname -s)" >> "$(dirname "$SLURM_CONF")/slurmd.out" 2>&1 &
  slurmd_pid=$!
  slurm_pids+=("$slurmd_pid")
}

# elements_of FOLDER: the processes of `berth sweep --output FOLDER` that Slurm has started. The runs that they fork
# look like them, but are no children of slurmstepd.
elements_of() {
  local pid
  for pid in $(pgrep -f -- "--output $1 --plan-digest"); do
    [ "$(cat "/proc/$(awk '{ print $4 }' "/proc/$pid/stat" 2> /dev/null)/comm" 2> /dev/null)" = slurmstepd ] &&
      echo "$pid"
  done
}

slurm_start() {
  local folder=$1 host ports
  shift
  host=$(hostname -s)
  mkdir -p "$folder/state" "$folder/spool"
  chmod 700 "$folder"
  # Two free ports.
  read -r -a ports < <(python3 -c '
import socket
sockets = [socket.socket() for _ in range(2)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])')
  head -c 1024 /dev/urandom > "$folder/munge.key"
  chmod 600 "$folder/munge.key"
  cat > "$folder/slurm.conf" << END
ClusterName=berth
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket,cred_expire=${slurm_cred_expire_s:-120}
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=0,default_queue_depth=1000
MpiDefault=none
ReturnToService=2
JobRequeue=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:2
END
  printf '%s\n' "$@" >> "$folder/slurm.conf"
  printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=%s/cgroup\nCgroupAutomount=no\n' "$folder" > "$folder/cgroup.conf"
  export SLURM_CONF="$folder/slurm.conf"
  munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" > "$folder/munged.out" 2>&1 &
  slurm_pids+=($!)
  for _ in $(seq 50); do [ -S "$folder/munge.socket" ] && break; sleep 0.1; done
  slurmctld -D -c -f "$SLURM_CONF" > "$folder/slurmctld.out" 2>&1 &
  slurm_pids+=($!)
  slurmd_start
  for _ in $(seq 40); do
    sinfo -h -o %T 2> /dev/null | grep -qE '^(idle|mixed|allocated)$' && return 0
    sleep 0.2
  done
  echo "Slurm did not start; its logs end with:" >&2
  tail -n 5 "$folder"/*.log "$folder"/*.out >&2
  return 1
}

slurm_stop() {
  local pid
  for pid in "${slurm_pids[@]:1}" "${slurm_pids[@]:0:1}"; do kill "$pid" 2> /dev/null; done
  wait "${slurm_pids[@]}" 2> /dev/null
  slurm_pids=()
}
