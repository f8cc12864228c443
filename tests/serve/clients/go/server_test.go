// Tests of `berth serve` with Nomad's own client library for Go, as programs use it.
//
// Each test starts a server of its own on a free port. Virtual time goes twenty times as fast as the real one, so that a
// deployment with its 10 s of health takes half a second. BERTH names the program.
package clients

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

var address = regexp.MustCompile(`http://[0-9.]+:[0-9]+`)

// startServer starts `berth serve` with these options, ends it with the test, and returns a client of it.
func startServer(t *testing.T, options ...string) *api.Client {
	t.Helper()
	program := os.Getenv("BERTH")
	if program == "" {
		t.Fatal("BERTH is not set: name the program, BERTH=build/release/berth")
	}
	arguments := append([]string{"serve", "--listen", "127.0.0.1:0", "--speed", "20"}, options...)
	server := exec.Command(program, arguments...)
	out, err := server.StdoutPipe()
	must(t, err)
	server.Stderr = os.Stderr
	must(t, server.Start())
	t.Cleanup(func() {
		must(t, server.Process.Signal(os.Interrupt))
		if err := server.Wait(); err != nil {
			t.Errorf("berth serve ended with %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url := address.FindString(lines.Text()); url != "" {
			client, err := api.NewClient(&api.Config{Address: url})
			must(t, err)
			return client
		}
	}
	t.Fatal("berth serve did not say its address")
	return nil
}

// startOpen starts three nodes without access control; the first one is the agent's own.
func startOpen(t *testing.T) *api.Client {
	t.Helper()
	return startServer(t, "--nodes", "3", "--self-node", "here")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want fails the test unless the two are equal.
func want[T comparable](t *testing.T, what string, found, expected T) {
	t.Helper()
	if found != expected {
		t.Fatalf("%s: %v instead of %v", what, found, expected)
	}
}

// refused fails the test unless the error has this text.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; expected %q", text)
	}
	if !strings.Contains(err.Error(), text) {
		t.Fatalf("error %q; expected %q", err, text)
	}
}

// eventually waits until `holds` does, at most ten seconds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("%s: not within 10 s", what)
}

const jobFile = `
job "%s" {
  type = "service"
  group "app" {
    count = %d
    update {
      min_healthy_time = "1s"
      max_parallel     = 3
    }
    network {
      port "http" {}
    }
    service {
      name     = "%[1]s-http"
      port     = "http"
      provider = "nomad"
    }
    task "main" {
      driver = "mock_driver"
      config {
        run_for       = "24h"
        stdout_string = "hello"
      }
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
`

// parse reads a job file on the server, as `nomad job run` does with its own parser.
func parse(t *testing.T, c *api.Client, text string) *api.Job {
	t.Helper()
	job, err := c.Jobs().ParseHCL(text, true)
	must(t, err)
	return job
}

// run registers the job and waits until its deployment is over.
func run(t *testing.T, c *api.Client, id string, count int) *api.Job {
	t.Helper()
	job := parse(t, c, fmt.Sprintf(jobFile, id, count))
	answer, meta, err := c.Jobs().Register(job, nil)
	must(t, err)
	if answer.EvalID == "" || answer.JobModifyIndex == 0 || meta.LastIndex == 0 {
		t.Fatalf("registration without evaluation or index: %+v", answer)
	}
	rolledOut(t, c, id)
	return job
}

func rolledOut(t *testing.T, c *api.Client, id string) {
	t.Helper()
	eventually(t, "deployment of "+id, func() bool {
		deployment, _, err := c.Jobs().LatestDeployment(id, nil)
		must(t, err)
		return deployment != nil && deployment.Status == "successful"
	})
}

// running returns the job's allocations that run.
func running(t *testing.T, c *api.Client, id string) []*api.AllocationListStub {
	t.Helper()
	all, _, err := c.Jobs().Allocations(id, false, nil)
	must(t, err)
	var out []*api.AllocationListStub
	for _, alloc := range all {
		if alloc.ClientStatus == "running" && alloc.DesiredStatus == "run" {
			out = append(out, alloc)
		}
	}
	return out
}
