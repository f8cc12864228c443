package clients

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"io"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func localNode(t *testing.T, c *api.Client) *api.NodeListStub {
	t.Helper()
	list, _, err := c.Nodes().List(&api.QueryOptions{Filter: `Name == "here"`})
	must(t, err)
	want(t, "nodes", len(list), 1)
	return list[0]
}

func TestNodes(t *testing.T) {
	c := startOpen(t)
	run(t, c, "web", 3)
	all, _, err := c.Nodes().List(&api.QueryOptions{Params: map[string]string{"resources": "true"}})
	must(t, err)
	want(t, "nodes", len(all), 3)
	if all[0].NodeResources == nil {
		t.Fatal("no resources in the list")
	}
	stub := localNode(t, c)
	node, _, err := c.Nodes().Info(stub.ID, nil)
	must(t, err)
	want(t, "status", node.Status, "ready")
	want(t, "driver", node.Drivers["mock_driver"].Healthy, true)
	_, _, err = c.Nodes().Info("2d4a1f1e-0000-4000-8000-000000000000", nil)
	refused(t, err, "node not found")
	stats, err := c.Nodes().Stats(node.ID, nil)
	must(t, err)
	if stats.Memory.Total == 0 {
		t.Fatal("no memory in the statistics")
	}

	value := "there"
	meta, err := c.Nodes().Meta().Apply(&api.NodeMetaApplyRequest{NodeID: node.ID, Meta: map[string]*string{"where": &value}}, nil)
	must(t, err)
	want(t, "metadata", *meta.Dynamic["where"], "there")
	meta, err = c.Nodes().Meta().Read(node.ID, nil)
	must(t, err)
	want(t, "metadata", meta.Meta["where"], "there")

	_, err = c.Nodes().ToggleEligibility(node.ID, false, nil)
	must(t, err)
	_, err = c.Nodes().ToggleEligibility(node.ID, true, nil)
	must(t, err)
	drain, err := c.Nodes().UpdateDrainOpts(node.ID, &api.DrainOptions{
		DrainSpec: &api.DrainSpec{Deadline: time.Minute}, Meta: map[string]string{"why": "test"}}, nil)
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	complete := false
	for message := range c.Nodes().MonitorDrain(ctx, node.ID, drain.NodeModifyIndex, false) {
		if message.Level == api.MonitorMsgLevelError {
			t.Fatal(message.Message)
		}
		complete = complete || message.Level == api.MonitorMsgLevelInfo
	}
	want(t, "drain monitored", complete && ctx.Err() == nil, true)
	node, _, err = c.Nodes().Info(node.ID, nil)
	must(t, err)
	want(t, "last drain", node.LastDrain.Meta["why"], "test")
	want(t, "eligibility", node.SchedulingEligibility, "ineligible")
	allocs, _, err := c.Nodes().Allocations(node.ID, nil)
	must(t, err)
	for _, alloc := range allocs {
		want(t, "status of a drained allocation", alloc.DesiredStatus, "stop")
	}
	_, _, err = c.Nodes().ForceEvaluate(node.ID, nil)
	must(t, err)
	must(t, c.Nodes().GC(node.ID, nil))
	_, _, err = c.Nodes().Purge(all[2].ID, nil)
	must(t, err)
}

func TestBlockingQueries(t *testing.T) {
	c := startOpen(t)
	_, meta, err := c.Jobs().List(nil)
	must(t, err)
	index := meta.LastIndex
	if index == 0 {
		index = 1
	}
	type answer struct {
		jobs int
		meta *api.QueryMeta
		err  error
	}
	woken := make(chan answer, 1)
	go func() {
		list, meta, err := c.Jobs().List(&api.QueryOptions{WaitIndex: index, WaitTime: 20 * time.Second})
		woken <- answer{len(list), meta, err}
	}()
	select {
	case early := <-woken:
		t.Fatalf("answered before anything changed: %+v", early)
	case <-time.After(200 * time.Millisecond):
	}
	run(t, c, "web", 1)
	got := <-woken
	must(t, got.err)
	want(t, "jobs", got.jobs, 1)
	if got.meta.LastIndex <= index {
		t.Fatalf("index %d after %d", got.meta.LastIndex, index)
	}
	// Nothing changes: the answer comes when the wait is over.
	began := time.Now()
	_, _, err = c.Namespaces().List(&api.QueryOptions{WaitIndex: 1 << 40, WaitTime: 300 * time.Millisecond})
	must(t, err)
	if took := time.Since(began); took < 300*time.Millisecond || took > 5*time.Second {
		t.Fatalf("a wait of 300 ms took %v", took)
	}
}

func TestEventStream(t *testing.T) {
	c := startOpen(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := c.EventStream().Stream(ctx, map[api.Topic][]string{api.TopicJob: {"web"}, api.TopicAllocation: {"*"}}, 0, nil)
	must(t, err)
	run(t, c, "web", 1)
	job, alloc := false, false
	for deadline := time.After(10 * time.Second); !job || !alloc; {
		select {
		case events := <-stream:
			must(t, events.Err)
			for _, event := range events.Events {
				if event.Topic == api.TopicJob && event.Type == "JobRegistered" {
					payload, err := event.Job()
					must(t, err)
					want(t, "job", *payload.ID, "web")
					job = true
				}
				if event.Topic == api.TopicAllocation {
					payload, err := event.Allocation()
					must(t, err)
					alloc = alloc || payload.ClientStatus == "running"
				}
			}
		case <-deadline:
			t.Fatal("no event of the job and of its running allocation within 10 s")
		}
	}
}

func TestOperator(t *testing.T) {
	c := startOpen(t)
	configuration, _, err := c.Operator().SchedulerGetConfiguration(nil)
	must(t, err)
	want(t, "algorithm", configuration.SchedulerConfig.SchedulerAlgorithm, api.SchedulerAlgorithmBinpack)
	changed := configuration.SchedulerConfig
	changed.SchedulerAlgorithm = api.SchedulerAlgorithmSpread
	answer, _, err := c.Operator().SchedulerCASConfiguration(changed, nil)
	must(t, err)
	want(t, "check-and-set", answer.Updated, true)
	changed.ModifyIndex = 99999
	answer, _, err = c.Operator().SchedulerCASConfiguration(changed, nil)
	must(t, err)
	want(t, "check-and-set with a wrong index", answer.Updated, false)
	autopilot, _, err := c.Operator().AutopilotGetConfiguration(nil)
	must(t, err)
	autopilot.MaxTrailingLogs = 99
	_, err = c.Operator().AutopilotSetConfiguration(autopilot, nil)
	must(t, err)
	health, _, err := c.Operator().AutopilotServerHealth(nil)
	must(t, err)
	want(t, "healthy", health.Healthy, true)
	raft, err := c.Operator().RaftGetConfiguration(nil)
	must(t, err)
	want(t, "servers", len(raft.Servers), 1)
	metrics, _, err := c.Operator().MetricsSummary(nil)
	must(t, err)
	if len(metrics.Gauges) == 0 {
		t.Fatal("no gauges")
	}
	must(t, c.System().GarbageCollect())
	must(t, c.System().ReconcileSummaries())
	_, _, err = c.Operator().LicenseGet(nil)
	if err != nil {
		t.Logf("license: %v", err)
	}

	leader, err := c.Status().Leader()
	must(t, err)
	peers, err := c.Status().Peers()
	must(t, err)
	want(t, "leader", leader, peers[0])
	regions, err := c.Regions().List()
	must(t, err)
	want(t, "region", regions[0], "global")
}

func TestSnapshot(t *testing.T) {
	c := startOpen(t)
	run(t, c, "web", 3)
	file, err := c.Operator().Snapshot(nil) // checks the digest as it is read
	must(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	must(t, err)
	names, archive := "", tar.NewReader(unpacked)
	for {
		member, err := archive.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		names += member.Name + " "
	}
	want(t, "members", names, "meta.json state.bin SHA256SUMS ")
}

func TestAgent(t *testing.T) {
	c := startOpen(t)
	self, err := c.Agent().Self()
	must(t, err)
	want(t, "member", self.Member.Status, "alive")
	members, err := c.Agent().Members()
	must(t, err)
	want(t, "members", len(members.Members), 1)
	health, err := c.Agent().Health()
	must(t, err)
	want(t, "server", health.Server.Ok, true)
	want(t, "client", health.Client.Ok, true)
	_, err = c.Agent().Servers()
	must(t, err)
	region, err := c.Agent().Region()
	must(t, err)
	want(t, "region", region, "global")
	name, err := c.Agent().NodeName()
	must(t, err)
	if name == "" {
		t.Fatal("the agent has no name")
	}
	workers, err := c.Agent().GetSchedulerWorkersInfo(nil)
	must(t, err)
	if len(workers.Schedulers) == 0 {
		t.Fatal("no workers")
	}
	_, err = c.Agent().SetSchedulerWorkerConfig(api.SchedulerWorkerPoolArgs{
		NumSchedulers: 1, EnabledSchedulers: []string{"service", "batch", "system", "sysbatch", "_core"}}, nil)
	must(t, err)
	stop := make(chan struct{})
	frames, failures := c.Agent().Monitor(stop, &api.QueryOptions{Params: map[string]string{"log_level": "debug"}})
	// The log has what happens from now on.
	for done := false; !done; {
		_, _, err = c.Jobs().List(nil)
		must(t, err)
		select {
		case frame := <-frames:
			done = frame != nil && len(frame.Data) > 0
		case err := <-failures:
			t.Fatal(err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	close(stop)
}

func TestNodePools(t *testing.T) {
	c := startOpen(t)
	_, err := c.NodePools().Register(&api.NodePool{Name: "gpu", Description: "with cards"}, nil)
	must(t, err)
	pool, _, err := c.NodePools().Info("gpu", nil)
	must(t, err)
	want(t, "description", pool.Description, "with cards")
	list, _, err := c.NodePools().List(nil)
	must(t, err)
	want(t, "pools", len(list), 3)
	nodes, _, err := c.NodePools().ListNodes("default", nil)
	must(t, err)
	want(t, "nodes", len(nodes), 3)
	_, err = c.NodePools().Delete("gpu", nil)
	must(t, err)
	_, _, err = c.NodePools().Info("gpu", nil)
	refused(t, err, "404")
}
