// Package publishing contains the commands that write to GitHub: report and drift-issues.
package publishing

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"slices"
	"strings"

	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/github"
	"slipway/internal/run"
)

// githubOptions are the options of the commands that write to GitHub. The token is the only secret
// that these commands get.
type githubOptions struct {
	results string   // folder with one folder per environment: the results of its plan or check
	envs    []string // environments whose results must exist; a missing one counts as failed
	context string   // folder with env, the GITHUB_ variables of the job, and event.json
	token   string   // file with the token
	dryRun  bool     // print what would be written, without writing it
}

func (o *githubOptions) flags(f *flag.FlagSet) {
	f.StringVar(&o.results, "results", "/results", "folder with one folder per environment, the results of its plan or check")
	f.Func("envs", "comma-separated environments whose results must exist", func(text string) error {
		o.envs = strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
		return nil
	})
	f.StringVar(&o.context, "github", "/github", "folder with env, the GITHUB_ variables of the job, and event.json")
	f.StringVar(&o.token, "token", "/run/secrets/github-token", "file with the token for GitHub")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be written, without writing it")
}

const contextHint = "mkdir -p .slipway/github && env | grep ^GITHUB_ >.slipway/github/env && cp \"$GITHUB_EVENT_PATH\" .slipway/github/event.json"

// githubContext reads GitHub's information about the run.
func githubContext(o githubOptions) (github.Context, error) {
	data, err := os.ReadFile(o.context + "/env")
	if errors.Is(err, fs.ErrNotExist) {
		return github.Context{}, fault.Refuse(contextHint+"; then add --github=.slipway/github", "the GitHub repository is not known")
	}
	if err != nil {
		return github.Context{}, err
	}
	variables := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok {
			variables[name] = value
		}
	}
	// The job's path does not exist in this container.
	delete(variables, "GITHUB_EVENT_PATH")
	if _, err := os.Stat(o.context + "/event.json"); err == nil {
		variables["GITHUB_EVENT_PATH"] = o.context + "/event.json"
	}
	return github.ReadContext(func(name string) string { return variables[name] })
}

// githubClient returns a client for the run's GitHub server.
func githubClient(r *run.Run, o githubOptions, run github.Context) (*github.Client, error) {
	token, err := os.ReadFile(o.token)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Refuse("--token=env://GITHUB_TOKEN, or --dry-run to see what would be written", "no token for GitHub was given")
	}
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(token))
	r.Mask.Add(text)
	return github.New(github.Options{API: run.API, Token: text})
}

// resultFolders returns the environments with results and those that must have results, sorted by
// name.
func resultFolders(o githubOptions) ([]string, error) {
	entries, err := os.ReadDir(o.results)
	if err != nil {
		return nil, fault.Refuse("give a folder with one folder per environment: the export of plan-files", "%q cannot be read", o.results)
	}
	names := slices.Clone(o.envs)
	for _, name := range names {
		if !environment.ValidName(name) {
			return nil, fault.Refuse("dagger call environments", "%q cannot be the name of an environment", name)
		}
	}
	for _, e := range entries {
		if e.IsDir() && environment.ValidName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil, fault.Refuse("give a folder with one folder per environment: the export of plan-files", "there are no results of any environment")
	}
	return names, nil
}
