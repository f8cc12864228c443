package clients

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"
)

func TestJobs(t *testing.T) {
	c := startOpen(t)
	jobs := c.Jobs()
	job := parse(t, c, fmt.Sprintf(jobFile, "web", 3))
	want(t, "parsed count", *job.TaskGroups[0].Count, 3)

	valid, _, err := jobs.Validate(job, nil)
	must(t, err)
	want(t, "validation error", valid.Error, "")
	plan, _, err := jobs.Plan(job, true, nil)
	must(t, err)
	want(t, "diff", plan.Diff.Type, "Added")
	want(t, "planned", plan.Annotations.DesiredTGUpdates["app"].Place, uint64(3))
	want(t, "job is stored by a plan", plan.JobModifyIndex, uint64(0))

	// Registration with the index that the plan gave, and with a wrong one.
	answer, _, err := jobs.EnforceRegister(job, 0, nil)
	must(t, err)
	_, _, err = jobs.EnforceRegister(job, answer.JobModifyIndex+5, nil)
	refused(t, err, "Enforcing job modify index")
	rolledOut(t, c, "web")
	want(t, "running", len(running(t, c, "web")), 3)

	list, meta, err := jobs.List(&api.QueryOptions{Prefix: "we"})
	must(t, err)
	want(t, "jobs", len(list), 1)
	want(t, "running in the summary", list[0].JobSummary.Summary["app"].Running, 3)
	if meta.LastIndex == 0 || !meta.KnownLeader {
		t.Fatalf("list without index or leader: %+v", meta)
	}
	info, _, err := jobs.Info("web", nil)
	must(t, err)
	want(t, "status", *info.Status, "running")
	_, _, err = jobs.Info("nothing", nil)
	refused(t, err, "404")

	// A second version, a scaling, and back to the first.
	job.Meta = map[string]string{"release": "2"}
	_, _, err = jobs.Register(job, nil)
	must(t, err)
	rolledOut(t, c, "web")
	count := 4
	_, _, err = jobs.Scale("web", "app", &count, "more", false, map[string]any{"by": "test"}, nil)
	must(t, err)
	rolledOut(t, c, "web")
	scale, _, err := jobs.ScaleStatus("web", nil)
	must(t, err)
	want(t, "desired", scale.TaskGroups["app"].Desired, 4)
	want(t, "scaling event", scale.TaskGroups["app"].Events[0].Message, "more")
	_, _, err = jobs.Revert("web", 0, nil, nil, "", "")
	must(t, err)
	rolledOut(t, c, "web")
	versions, diffs, _, err := jobs.Versions("web", true, nil)
	must(t, err)
	want(t, "versions", len(versions), 4)
	want(t, "diffs", len(diffs), 3)
	want(t, "reverted count", *versions[0].TaskGroups[0].Count, 3)
	_, _, err = jobs.Revert("web", 77, nil, nil, "", "")
	refused(t, err, "not found")

	_, err = jobs.TagVersion("web", 1, "good", "worked", nil)
	must(t, err)
	tagged, _, err := jobs.VersionByTag("web", "good", nil)
	must(t, err)
	want(t, "tagged version", *tagged.Version, uint64(1))
	_, err = jobs.UntagVersion("web", "good", nil)
	must(t, err)
	_, _, err = jobs.Stable("web", 1, true, nil)
	must(t, err)
	evaluations, _, err := jobs.Evaluations("web", nil)
	must(t, err)
	if len(evaluations) < 4 {
		t.Fatalf("%d evaluations", len(evaluations))
	}
	if _, _, err = jobs.ForceEvaluate("web", nil); err != nil {
		t.Fatal(err)
	}
	summary, _, err := jobs.Summary("web", nil)
	must(t, err)
	want(t, "summary", summary.Summary["app"].Running, 3)
	services, _, err := jobs.Services("web", nil)
	must(t, err)
	want(t, "services", len(services), 3)

	_, _, err = jobs.Deregister("web", false, nil)
	must(t, err)
	eventually(t, "job dead", func() bool {
		info, _, err := jobs.Info("web", nil)
		must(t, err)
		return *info.Status == "dead" && *info.Stop
	})
	_, _, err = jobs.Deregister("web", true, nil)
	must(t, err)
	_, _, err = jobs.Info("web", nil)
	refused(t, err, "404")
}

func TestJobFiles(t *testing.T) {
	c := startOpen(t)
	text := `
variable "size" { default = 2 }
job "sized" {
  group "g" {
    count = var.size
    task "t" { driver = "mock_driver" }
  }
}`
	job, err := c.Jobs().ParseHCLOpts(&api.JobsParseRequest{JobHCL: text, Variables: "size = 5", Canonicalize: true})
	must(t, err)
	want(t, "count of a variable", *job.TaskGroups[0].Count, 5)
	want(t, "default", *job.TaskGroups[0].Tasks[0].Resources.CPU, 100)
	_, err = c.Jobs().ParseHCL(`job "x" { group `, false)
	refused(t, err, "400")

	submission := &api.JobSubmission{Source: text, Format: "hcl2", Variables: "size = 5"}
	_, _, err = c.Jobs().RegisterOpts(job, &api.RegisterOptions{Submission: submission}, nil)
	must(t, err)
	stored, _, err := c.Jobs().Submission("sized", 0, nil)
	must(t, err)
	want(t, "source", stored.Source, text)
	want(t, "variables", stored.Variables, "size = 5")
}

func TestDispatchAndPeriodic(t *testing.T) {
	c := startOpen(t)
	parent := parse(t, c, `
job "each" {
  type = "batch"
  parameterized { meta_required = ["who"] }
  group "g" {
    task "t" {
      driver = "mock_driver"
      config { run_for = "1s" }
    }
  }
}`)
	_, _, err := c.Jobs().Register(parent, nil)
	must(t, err)
	child, _, err := c.Jobs().Dispatch("each", map[string]string{"who": "me"}, []byte("payload"), "", nil)
	must(t, err)
	info, _, err := c.Jobs().Info(child.DispatchedJobID, nil)
	must(t, err)
	want(t, "parent", *info.ParentID, "each")
	want(t, "payload", string(info.Payload), "payload")
	_, _, err = c.Jobs().Dispatch("each", nil, nil, "", nil)
	refused(t, err, "who")
	eventually(t, "child complete", func() bool {
		info, _, err := c.Jobs().Info(child.DispatchedJobID, nil)
		must(t, err)
		return *info.Status == "dead"
	})

	nightly := parse(t, c, `
job "nightly" {
  type = "batch"
  periodic { crons = ["0 3 * * *"] }
  group "g" {
    task "t" { driver = "mock_driver" }
  }
}`)
	_, _, err = c.Jobs().Register(nightly, nil)
	must(t, err)
	_, _, err = c.Jobs().PeriodicForce("nightly", nil)
	must(t, err)
	list, _, err := c.Jobs().List(&api.QueryOptions{Prefix: "nightly/"})
	must(t, err)
	want(t, "children", len(list), 1)
}

func TestDeployments(t *testing.T) {
	c := startOpen(t)
	job := run(t, c, "web", 3)
	canary := 1
	job.TaskGroups[0].Update.Canary = &canary
	job.Meta = map[string]string{"release": "2"}
	job.TaskGroups[0].Tasks[0].Env = map[string]string{"RELEASE": "2"}
	_, _, err := c.Jobs().Register(job, nil)
	must(t, err)
	var deployment *api.Deployment
	eventually(t, "healthy canary", func() bool {
		deployment, _, err = c.Jobs().LatestDeployment("web", nil)
		must(t, err)
		return deployment.JobVersion == 1 && deployment.TaskGroups["app"].HealthyAllocs == 1
	})
	want(t, "status", deployment.StatusDescription, "Deployment is running but requires manual promotion")
	allocs, _, err := c.Deployments().Allocations(deployment.ID, nil)
	must(t, err)
	want(t, "allocations of the deployment", len(allocs), 1)
	_, _, err = c.Deployments().Pause(deployment.ID, true, nil)
	must(t, err)
	_, _, err = c.Deployments().Pause(deployment.ID, false, nil)
	must(t, err)
	_, _, err = c.Deployments().PromoteAll(deployment.ID, nil)
	must(t, err)
	rolledOut(t, c, "web")
	list, _, err := c.Deployments().List(nil)
	must(t, err)
	want(t, "deployments", len(list), 2)
	_, _, err = c.Deployments().Fail(deployment.ID, nil)
	refused(t, err, "can't fail terminal deployment")
	_, _, err = c.Deployments().Info("2d4a1f1e-0000-4000-8000-000000000000", nil)
	refused(t, err, "deployment not found")

	// A roll-out that somebody fails.
	job.TaskGroups[0].Tasks[0].Env["RELEASE"] = "3"
	_, _, err = c.Jobs().Register(job, nil)
	must(t, err)
	eventually(t, "third deployment", func() bool {
		deployment, _, err = c.Jobs().LatestDeployment("web", nil)
		must(t, err)
		return deployment.JobVersion == 2
	})
	_, _, err = c.Deployments().Fail(deployment.ID, nil)
	must(t, err)
	deployment, _, err = c.Deployments().Info(deployment.ID, nil)
	must(t, err)
	want(t, "status", deployment.Status, "failed")
}

func TestAllocations(t *testing.T) {
	c := startOpen(t)
	run(t, c, "web", 2)
	stub := running(t, c, "web")[0]
	alloc, _, err := c.Allocations().Info(stub.ID, nil)
	must(t, err)
	want(t, "name", alloc.Name[:8], "web.app[")
	want(t, "ports", len(alloc.AllocatedResources.Shared.Ports), 1)
	list, _, err := c.Allocations().PrefixList(stub.ID[:8])
	must(t, err)
	want(t, "by prefix", len(list), 1)
	filtered, _, err := c.Allocations().List(&api.QueryOptions{Filter: `ClientStatus == "running"`, PerPage: 1})
	must(t, err)
	want(t, "a page", len(filtered), 1)
	_, err = c.Allocations().Stats(alloc, nil)
	must(t, err)
	_, err = c.Allocations().Checks(alloc.ID, nil)
	must(t, err)
	services, _, err := c.Allocations().Services(alloc.ID, nil)
	must(t, err)
	want(t, "services", len(services), 1)

	must(t, c.Allocations().Restart(alloc, "main", nil))
	eventually(t, "restart", func() bool {
		alloc, _, err = c.Allocations().Info(stub.ID, nil)
		must(t, err)
		return alloc.TaskStates["main"].Restarts == 1
	})
	refused(t, c.Allocations().Restart(alloc, "nope", nil), "Could not find task runner for task: nope")
	must(t, c.Allocations().RestartAllTasks(alloc, nil))
	eventually(t, "signal to the task that runs again", func() bool {
		return c.Allocations().Signal(alloc, nil, "main", "SIGUSR1") == nil
	})

	files, _, err := c.AllocFS().List(alloc, "/", nil)
	must(t, err)
	if len(files) == 0 {
		t.Fatal("no files in the allocation's folder")
	}
	cancel := make(chan struct{})
	frames, failures := c.AllocFS().Logs(alloc, false, "main", "stdout", "start", 0, cancel, nil)
	var log string
	for open := true; open; {
		select {
		case frame, more := <-frames:
			if open = more; more {
				log += string(frame.Data)
			}
		case err := <-failures:
			t.Fatal(err)
		case <-time.After(5 * time.Second):
			t.Fatal("the log does not end")
		}
	}
	if len(log) < 5 || log[:5] != "hello" {
		t.Fatalf("log %q", log)
	}

	stopped, err := c.Allocations().Stop(alloc, nil)
	must(t, err)
	eventually(t, "evaluation of the stop", func() bool {
		evaluation, _, err := c.Evaluations().Info(stopped.EvalID, nil)
		must(t, err)
		return evaluation.Status == "complete"
	})
	eventually(t, "replacement", func() bool { return len(running(t, c, "web")) == 2 })
}

func TestEvaluations(t *testing.T) {
	c := startOpen(t)
	run(t, c, "web", 2)
	job := parse(t, c, fmt.Sprintf(jobFile, "huge", 1))
	memory := 1 << 20
	job.TaskGroups[0].Tasks[0].Resources.MemoryMB = &memory
	answer, _, err := c.Jobs().Register(job, nil)
	must(t, err)
	var blocked string
	eventually(t, "blocked evaluation", func() bool {
		evaluation, _, err := c.Evaluations().Info(answer.EvalID, nil)
		must(t, err)
		if evaluation.Status == "complete" {
			blocked = evaluation.BlockedEval
			want(t, "exhausted by memory", evaluation.FailedTGAllocs["app"].DimensionExhausted["memory"], 3)
		}
		return blocked != ""
	})
	list, _, err := c.Evaluations().List(&api.QueryOptions{Params: map[string]string{"status": "blocked"}})
	must(t, err)
	want(t, "blocked", len(list), 1)
	want(t, "its ID", list[0].ID, blocked)
	count, _, err := c.Evaluations().Count(nil)
	must(t, err)
	if count.Count < 3 {
		t.Fatalf("%d evaluations counted", count.Count)
	}
	stubs, _, err := c.Evaluations().Allocations(answer.EvalID, nil)
	must(t, err)
	want(t, "allocations of the evaluation", len(stubs), 0)
	_, _, err = c.Evaluations().Info("2d4a1f1e-0000-4000-8000-000000000000", nil)
	refused(t, err, "404")

	found, _, err := c.Search().PrefixSearch("hu", contexts.Jobs, nil)
	must(t, err)
	want(t, "found", found.Matches[contexts.Jobs][0], "huge")
	fuzzy, _, err := c.Search().FuzzySearch("ug", contexts.All, nil)
	must(t, err)
	want(t, "found", fuzzy.Matches[contexts.Jobs][0].ID, "huge")
}
