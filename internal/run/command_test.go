package run_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway/internal/must"
	"slipway/internal/run"
)

func command(opens run.Opens) run.Command {
	return run.Command{Name: "wave", Help: "wave at the cloud", Opens: opens, Flags: func(f *flag.FlagSet) { f.Bool("twice", false, "wave twice") }}
}

func TestParse(t *testing.T) {
	var o run.Options
	byLayer := command(run.State)
	must.Fail(t, byLayer.Parse([]string{"--layer=net"}, &o), "not defined: -layer")
	byLayer.ByLayer = true
	must.Do(t, byLayer.Parse([]string{"--env=test", "--layer=net", "--run-id=seven", "--twice"}, &o))
	if o.Env != "test" || o.OnlyLayer != "net" || o.ID != "seven" || o.Repository != "/repo" || o.Deadline != 55*time.Minute {
		t.Errorf("got %+v", o)
	}
	o = run.Options{}
	must.Do(t, command(run.Nothing).Parse(nil, &o))
	if _, err := time.Parse("20060102-150405.000000", o.ID); err != nil {
		t.Errorf("a run without a name is called %q", o.ID)
	}
	// A refusal is printed once, masked, and not by the flag package.
	printed, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	must.Do(t, err)
	stderr := os.Stderr
	os.Stderr = printed
	defer func() {
		os.Stderr = stderr
		if text, err := os.ReadFile(printed.Name()); err != nil || len(text) > 0 {
			t.Errorf("on standard error: %s, %v", text, err)
		}
	}()
	must.Refuse(t, command(run.Nothing).Parse([]string{"--env=test"}, &o), "wave: flag provided but not defined: -env", "slipway wave --help")
	must.Refuse(t, command(run.State).Parse([]string{"test"}, &o), `wave takes no argument "test"`, "slipway wave --help")
}

// What follows the flags is for the tool that the command runs, also if it looks like flags of ours.
func TestParseArguments(t *testing.T) {
	c := command(run.State)
	c.Arguments = "HOW"
	var o run.Options
	must.Do(t, c.Parse([]string{"--env=test", "--", "--env=other", "-x", "--", "y"}, &o))
	if o.Env != "test" || !slices.Equal(o.Args, []string{"--env=other", "-x", "--", "y"}) {
		t.Errorf("got %q for %s", o.Args, o.Env)
	}
	must.Refuse(t, c.Parse([]string{"-x", "y"}, &o), "wave: flag provided but not defined: -x", "slipway wave --help")
	var text strings.Builder
	c.Usage(&text)
	if !strings.HasPrefix(text.String(), "usage: slipway wave [FLAGS] -- HOW\n") {
		t.Errorf("got %s", text.String())
	}
}

func TestUsage(t *testing.T) {
	for opens, has := range map[run.Opens]bool{run.Nothing: false, run.Credentials: true, run.State: true} {
		var text strings.Builder
		command(opens).Usage(&text)
		if !strings.HasPrefix(text.String(), "usage: slipway wave [FLAGS]\n\nwave at the cloud\n\n") || !strings.Contains(text.String(), "-twice") {
			t.Errorf("got %s", text.String())
		}
		if strings.Contains(text.String(), "-env") != has {
			t.Errorf("a command that opens %d: -env is wrong:\n%s", opens, text.String())
		}
	}
}
