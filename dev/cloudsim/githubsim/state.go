package githubsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// An Issue is an issue or a pull request: GitHub numbers them together, and most of its API treats
// a pull request as an issue.
type Issue struct {
	ID       int64      `json:"id"`
	Number   int        `json:"number"` // starts at 1 in each repository
	Pull     bool       `json:"pull"`
	Title    string     `json:"title"`
	Body     string     `json:"body"`
	Author   string     `json:"author"` // login
	Labels   []string   `json:"labels"`
	Open     bool       `json:"open"`
	Reason   string     `json:"reason"` // why it was closed or reopened, or empty
	Created  time.Time  `json:"created"`
	Updated  time.Time  `json:"updated"`
	Closed   time.Time  `json:"closed"`
	Comments []*Comment `json:"comments"` // oldest first
}

// A Comment is a comment on an issue or a pull request.
type Comment struct {
	ID      int64     `json:"id"`
	Author  string    `json:"author"` // login
	Body    string    `json:"body"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

type repository struct {
	Issues []*Issue `json:"issues"` // number 1 first
	Labels []string `json:"labels"`
	Runs   []Run    `json:"runs"` // the last one last
}

type state struct {
	Last         int64                  `json:"last"` // the last ID that was used
	Repositories map[string]*repository `json:"repositories"`
}

// repository returns a repository, and creates it if necessary.
func (s *Server) repository(name string) *repository {
	r := s.state.Repositories[name]
	if r == nil {
		r = &repository{}
		s.state.Repositories[name] = r
	}
	return r
}

// issue returns nil if there is no such number.
func (r *repository) issue(number int) *Issue {
	if number < 1 || number > len(r.Issues) {
		return nil
	}
	return r.Issues[number-1]
}

// comment returns a comment's issue and its index there, or nil.
func (r *repository) comment(id int64) (*Issue, int) {
	for _, issue := range r.Issues {
		for i, c := range issue.Comments {
			if c.ID == id {
				return issue, i
			}
		}
	}
	return nil, 0
}

// hasLabel ignores case, as GitHub does.
func hasLabel(labels []string, name string) bool {
	for _, label := range labels {
		if strings.EqualFold(label, name) {
			return true
		}
	}
	return false
}

func (s *Server) id() int64 {
	s.state.Last++
	return s.state.Last
}

func (s *Server) load() error {
	s.state.Repositories = map[string]*repository{}
	if s.path == "" {
		return nil
	}
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &s.state); err != nil {
		return fmt.Errorf("read %s: %w", s.path, err)
	}
	return nil
}

// save replaces the file with a rename: whenever the process is killed, either the old or the new
// file exists, and is complete.
func (s *Server) save() error {
	if s.path == "" {
		return nil
	}
	data, err := json.Marshal(s.state)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(s.path), ".githubsim-*")
	if err != nil {
		return err
	}
	// The temporary file no longer exists if all went well.
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), s.path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
