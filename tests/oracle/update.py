"""Which differences between two versions of a group force a destructive update (spec part 06 section 13.1)."""
import json


def blank(x):
    return x is None or x is False or x == "" or x == [] or x == {} or (isinstance(x, (int, float)) and x == 0)


def same(a, b):
    """Deep equality; absent, null, empty and zero are one value; numbers of different kinds differ."""
    if blank(a) and blank(b):
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return all(same(a.get(k), b.get(k)) for k in set(a) | set(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return type(a) is type(b) and a == b


def same_config(a, b):
    """As same(), but a key with an empty value is still a key."""
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(same_config(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_config(x, y) for x, y in zip(a, b))
    return type(a) is type(b) and a == b


def fields(a, b, names):
    """Two blocks: both absent, or both present and equal in these fields."""
    if a is None or b is None:
        return a is None and b is None
    return all(same(a.get(n), b.get(n)) for n in names)


def lists(a, b, names):
    a, b = a or [], b or []
    return len(a) == len(b) and all(fields(x, y, names) for x, y in zip(a, b))


def as_set(values):
    return {json.dumps(v, sort_keys=True) for v in values or []}


def ports(network):
    out = []
    for p in network.get("ReservedPorts") or []:
        out.append((p.get("Label") or "", p.get("Value") or 0, p.get("To") or 0, p.get("HostNetwork") or ""))
    for p in network.get("DynamicPorts") or []:
        out.append((p.get("Label") or "", 0, p.get("To") or 0, p.get("HostNetwork") or ""))
    return out


def networks(a, b):
    """R-SCHED-104."""
    a, b = a or [], b or []
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if not all(same(x.get(n), y.get(n)) for n in ("Mode", "MBits", "Hostname")):
            return False
        if not fields(x.get("DNS"), y.get("DNS"), ("Servers", "Searches", "Options")):
            return False
        if not same((x.get("CNI") or {}).get("Args"), (y.get("CNI") or {}).get("Args")):
            return False
        if ports(x) != ports(y):
            return False
    return True


def consul(a, b):
    """R-SCHED-105."""
    if a is None or b is None:
        return True
    return same(a.get("Cluster"), b.get("Cluster")) and same(a.get("Partition"), b.get("Partition"))


SIDECAR_TASK = ("Name", "Driver", "User", "Env", "Meta", "KillTimeout", "LogConfig", "ShutdownDelay", "KillSignal",
                "VolumeMounts", "Identities")


def connect(new, old):
    """R-SCHED-106."""
    for n in new or []:
        c = n.get("Connect")
        if c is None:
            continue
        o = next((x for x in old or [] if x.get("Name") == n.get("Name")), None)
        if o is None:
            continue
        d = o.get("Connect")
        if d is None or not same(c.get("Native"), d.get("Native")):
            return False
        if not ((c.get("Gateway") is None) == (d.get("Gateway") is None) and same(c.get("Gateway"), d.get("Gateway"))):
            return False
        s, t = c.get("SidecarTask"), d.get("SidecarTask")
        if not fields(s, t, SIDECAR_TASK):
            return False
        if s is not None:
            if not same_config(s.get("Config") or {}, t.get("Config") or {}):
                return False
            r, q = dict(s.get("Resources") or {}), dict(t.get("Resources") or {})
            r.pop("NUMA", None)
            q.pop("NUMA", None)
            if not same(r, q):
                return False
        s, t = c.get("SidecarService"), d.get("SidecarService")
        if (s is None) != (t is None) or (s is not None and not same(s.get("Port"), t.get("Port"))):
            return False
        if not same(n.get("PortLabel"), o.get("PortLabel")):
            return False
        if not same(n.get("Cluster"), o.get("Cluster")):
            return False
    return True


VOLUME = ("Name", "Type", "Source", "ReadOnly", "Sticky", "AccessMode", "AttachmentMode", "PerAlloc")
ARTIFACT = ("GetterSource", "GetterOptions", "GetterHeaders", "GetterMode", "GetterInsecure", "RelativeDest", "Chown")
VAULT = ("Role", "Namespace", "Cluster", "Env", "DisableFile", "ChangeMode", "ChangeSignal", "AllowTokenExpiration")
SECRET = ("Name", "Provider", "Path", "Config", "Env")
TEMPLATE = ("SourcePath", "DestPath", "EmbeddedTmpl", "ChangeMode", "ChangeSignal", "Once", "Splay", "Perms", "Uid",
            "Gid", "LeftDelim", "RightDelim", "Envvars", "VaultGrace", "ErrMissingKey")
SCRIPT = ("Command", "Args", "Timeout", "FailOnError", "RunOnFirstRender")
CSI_PLUGIN = ("ID", "Type", "MountDir", "StagePublishBaseDir", "HealthTimeout")
MOUNT = ("Volume", "Destination", "ReadOnly", "PropagationMode", "SELinuxLabel")
IDENTITY = ("Name", "Audience", "ChangeMode", "ChangeSignal", "Env", "File", "Filepath", "ServiceName", "TTL",
            "ExtraClaims")


def volumes(a, b):
    a, b = a or {}, b or {}
    if set(a) != set(b):
        return False
    for k in a:
        if not fields(a[k], b[k], VOLUME):
            return False
        x, y = (a[k] or {}).get("MountOptions"), (b[k] or {}).get("MountOptions")
        if not fields(x, y, ("FSType",)):
            return False
        if x is not None and as_set(x.get("MountFlags")) != as_set(y.get("MountFlags")):
            return False
    return True


def templates(a, b):
    a, b = a or [], b or []
    if not lists(a, b, TEMPLATE):
        return False
    for x, y in zip(a, b):
        if not fields(x.get("ChangeScript"), y.get("ChangeScript"), SCRIPT):
            return False
        if not fields(x.get("Wait"), y.get("Wait"), ("Min", "Max")):
            return False
    return True


def render(restart):
    return bool((restart or {}).get("RenderTemplates"))


def merged_meta(job, group, task):
    out = {}
    for o in (job, group, task):
        out.update(o.get("Meta") or {})
    return out


def devices(new, old):
    new, old = new or [], old or []
    if len(new) != len(old):
        return False
    last = {d.get("Name") or "": d for d in new}
    for d in old:
        n = last.get(d.get("Name") or "")
        if n is None or (n.get("Count") or 0) != (d.get("Count") or 0):
            return False
        if as_set(n.get("Constraints")) != as_set(d.get("Constraints")):
            return False
        if as_set(n.get("Affinities")) != as_set(d.get("Affinities")):
            return False
    return True


def changed(new_job, old_job, group_name):
    """R-SCHED-103: True if the update is destructive."""
    a, b = ((next(g for g in j["TaskGroups"] if g["Name"] == group_name)) for j in (new_job, old_job))
    if len(a.get("Tasks") or []) != len(b.get("Tasks") or []):
        return True
    if not fields(a.get("EphemeralDisk"), b.get("EphemeralDisk"), ("Sticky", "SizeMB", "Migrate")):
        return True
    if not networks(a.get("Networks"), b.get("Networks")) or not consul(a.get("Consul"), b.get("Consul")):
        return True
    if not connect(a.get("Services"), b.get("Services")) or not volumes(a.get("Volumes"), b.get("Volumes")):
        return True
    if render(a.get("RestartPolicy")) != render(b.get("RestartPolicy")):
        return True
    for x in a.get("Tasks") or []:
        y = next((t for t in b.get("Tasks") or [] if t.get("Name") == x.get("Name")), None)
        if y is None:
            return True
        if not same(x.get("Driver"), y.get("Driver")) or not same(x.get("User"), y.get("User")):
            return True
        if not same_config(x.get("Config") or {}, y.get("Config") or {}):
            return True
        if (x.get("Env") or {}) != (y.get("Env") or {}):
            return True
        if not lists(x.get("Artifacts"), y.get("Artifacts"), ARTIFACT):
            return True
        if not fields(x.get("Vault"), y.get("Vault"), VAULT) or not lists(x.get("Secrets"), y.get("Secrets"), SECRET):
            return True
        if not consul(x.get("Consul"), y.get("Consul")) or not templates(x.get("Templates"), y.get("Templates")):
            return True
        if not fields(x.get("CSIPluginConfig"), y.get("CSIPluginConfig"), CSI_PLUGIN):
            return True
        if not lists(x.get("VolumeMounts"), y.get("VolumeMounts"), MOUNT):
            return True
        if merged_meta(new_job, a, x) != merged_meta(old_job, b, y):
            return True
        if not fields(x.get("Identity"), y.get("Identity"), IDENTITY):
            return True
        if not lists(x.get("Identities"), y.get("Identities"), IDENTITY):
            return True
        if bool((x.get("LogConfig") or {}).get("Disabled")) != bool((y.get("LogConfig") or {}).get("Disabled")):
            return True
        if render(x.get("RestartPolicy")) != render(y.get("RestartPolicy")):
            return True
        r, q = x.get("Resources") or {}, y.get("Resources") or {}
        if not all(same(r.get(n), q.get(n)) for n in ("CPU", "Cores", "MemoryMB", "MemoryMaxMB", "SecretsMB")):
            return True
        if not networks(r.get("Networks"), q.get("Networks")) or not devices(r.get("Devices"), q.get("Devices")):
            return True
        if not fields(r.get("NUMA"), q.get("NUMA"), ("Affinity", "Devices")):
            return True
    return False
