// Package publishing has the commands that write to GitHub: report and drift-issues.
package publishing

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"slipway/internal/github"
	"slipway/internal/refusal"
	"slipway/internal/run"
)

// githubOptions are the options of the commands that write to GitHub. They are given no other secret than
// its token.
type githubOptions struct {
	results string   // folder with a folder for each environment: the results of its plan or check
	envs    []string // whose results must be there; one that is missing has failed
	context string   // folder with env, the GITHUB_ variables of the job, and event.json
	token   string   // file
	dryRun  bool     // print what would be written, and write nothing
}

func (o *githubOptions) flags(f *flag.FlagSet) {
	f.StringVar(&o.results, "results", "/results", "folder with a folder for each environment, the results of its plan or check")
	f.Func("envs", "environments whose results must be there, with commas between", func(text string) error {
		o.envs = strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
		return nil
	})
	f.StringVar(&o.context, "github", "/github", "folder with env, the GITHUB_ variables of the job, and event.json")
	f.StringVar(&o.token, "token", "/run/secrets/github-token", "file with the token for GitHub")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be written, and write nothing")
}

const contextHint = "mkdir -p .slipway/github && env | grep ^GITHUB_ >.slipway/github/env && cp \"$GITHUB_EVENT_PATH\" .slipway/github/event.json"

// githubContext reads what GitHub says of the run.
func githubContext(o githubOptions) (github.Context, error) {
	data, err := os.ReadFile(o.context + "/env")
	if errors.Is(err, fs.ErrNotExist) {
		return github.Context{}, refusal.New(contextHint+"; then add --github=.slipway/github", "nothing says which repository of GitHub this is")
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
	// The path that the job knows is not one in this container.
	delete(variables, "GITHUB_EVENT_PATH")
	if _, err := os.Stat(o.context + "/event.json"); err == nil {
		variables["GITHUB_EVENT_PATH"] = o.context + "/event.json"
	}
	return github.ReadContext(func(name string) string { return variables[name] })
}

// githubClient talks to the GitHub of the run.
func githubClient(r *run.Run, o githubOptions, run github.Context) (*github.Client, error) {
	token, err := os.ReadFile(o.token)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refusal.New("--token=env://GITHUB_TOKEN, or --dry-run to see what would be written", "no token for GitHub is given")
	}
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(token))
	r.Mask.Add(text)
	return github.New(github.Options{API: run.API, Token: text})
}

var folderPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// resultFolders are the environments whose results there are, and those that must
// be there, in the order of their names.
func resultFolders(o githubOptions) ([]string, error) {
	entries, err := os.ReadDir(o.results)
	if err != nil {
		return nil, refusal.New("name a folder with a folder for each environment: the export of plan-files", "%q cannot be read", o.results)
	}
	names := slices.Clone(o.envs)
	for _, name := range names {
		if !folderPattern.MatchString(name) {
			return nil, refusal.New("dagger call environments", "%q cannot be the name of an environment", name)
		}
	}
	for _, e := range entries {
		if e.IsDir() && folderPattern.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil, refusal.New("name a folder with a folder for each environment: the export of plan-files", "there is no result of any environment")
	}
	return names, nil
}
