package stage

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"slipway/internal/github"
	"slipway/internal/refusal"
)

// GitHubOptions are of the stages that write to GitHub. They are given no other
// secret than its token.
type GitHubOptions struct {
	Results      string   // folder with a folder for each environment: the /out of its plan or check
	Environments []string // that must be there; one that is not, has failed
	Context      string   // folder with env, the GITHUB_ variables of the job, and event.json
	Token        string   // file
	DryRun       bool     // print what would be written, and write nothing
}

const contextHint = "mkdir -p .slipway/github && env | grep ^GITHUB_ >.slipway/github/env && cp \"$GITHUB_EVENT_PATH\" .slipway/github/event.json"

// githubContext reads what GitHub says of the run.
func (s *Run) githubContext() (github.Context, error) {
	data, err := os.ReadFile(s.GitHub.Context + "/env")
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
	if _, err := os.Stat(s.GitHub.Context + "/event.json"); err == nil {
		variables["GITHUB_EVENT_PATH"] = s.GitHub.Context + "/event.json"
	}
	return github.ReadContext(func(name string) string { return variables[name] })
}

// githubClient talks to the GitHub of the run.
func (s *Run) githubClient(run github.Context) (*github.Client, error) {
	token, err := os.ReadFile(s.GitHub.Token)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refusal.New("--token=env://GITHUB_TOKEN, or --dry-run to see what would be written", "no token for GitHub is given")
	}
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(token))
	s.Add(text)
	return github.New(github.Options{API: run.API, Token: text})
}

var folderPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// resultFolders are the environments whose results there are, and those that must
// be there, in the order of their names.
func (s *Run) resultFolders() ([]string, error) {
	entries, err := os.ReadDir(s.GitHub.Results)
	if err != nil {
		return nil, refusal.New("name a folder with a folder for each environment: the export of plan-files", "%q cannot be read", s.GitHub.Results)
	}
	names := s.GitHub.Environments
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
	names = sorted(names)
	if len(names) == 0 {
		return nil, refusal.New("name a folder with a folder for each environment: the export of plan-files", "there is no result of any environment")
	}
	return names, nil
}
