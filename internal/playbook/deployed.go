package playbook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"slipway/internal/report"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/workspace"
)

// sources is the folder of the repository with the playbooks, their roles and their variables.
const sources = "ansible"

// A deployed is the store's record of the last deploy of all tasks on all hosts. Its key is one that
// the credentials for plans cannot write.
type deployed struct {
	Version int               `json:"version"` // 1
	Run     string            `json:"run"`
	Commit  string            `json:"commit,omitempty"`
	Ended   time.Time         `json:"ended"`
	Files   map[string]string `json:"files"` // below ansible/: mode and digest, by path
}

func deployedKey(r *run.Run) string { return r.Env + "/deployed.json" }

// remember stores the record of a deploy. Without it, the next plan shows more files as changed than
// there are: that is no reason for a deploy to fail.
func (s *Site) remember(ctx context.Context, commit string) {
	err := func() error {
		files, err := workspace.Digests(s.Run, sources)
		if err != nil {
			return err
		}
		data, err := json.Marshal(deployed{Version: 1, Run: s.ID, Commit: commit, Ended: time.Now().UTC(), Files: files})
		if err != nil {
			return err
		}
		return s.Store.Write(ctx, deployedKey(s.Run), data)
	}()
	if err != nil {
		s.Say("note: this deploy could not be recorded, so the next plan compares with an earlier one: %v", err)
	}
}

// Forget deletes the record, as the hosts are gone.
func Forget(ctx context.Context, r *run.Run) error {
	if r.Environment.Deploy == nil || r.Store == nil {
		return nil
	}
	return r.Store.Remove(ctx, deployedKey(r))
}

// Since returns how the playbook's files differ from those of the last deploy. It returns nil if the
// environment has no playbook, or no store that would remember one.
func Since(ctx context.Context, r *run.Run) (*report.Deployment, error) {
	if r.Environment.Deploy == nil || r.Store == nil {
		return nil, nil
	}
	data, err := r.Store.Read(ctx, deployedKey(r))
	if errors.Is(err, state.ErrNone) {
		return &report.Deployment{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the last deploy: %w", err)
	}
	var last deployed
	if err := json.Unmarshal(data, &last); err != nil || last.Version != 1 {
		r.Say("note: it is unknown how the playbook differs from the deployed one: %s in %s is not a record of this version", deployedKey(r), r.Store.Name())
		return nil, nil
	}
	now, err := workspace.Digests(r, sources)
	if err != nil {
		return nil, err
	}
	d := &report.Deployment{Run: last.Run, Commit: last.Commit, Ended: last.Ended}
	paths := slices.AppendSeq(slices.Collect(maps.Keys(last.Files)), maps.Keys(now))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		before, was := last.Files[path]
		after, is := now[path]
		switch {
		case !was:
			d.Changed = append(d.Changed, report.File{Sign: "+", Path: path})
		case !is:
			d.Changed = append(d.Changed, report.File{Sign: "-", Path: path})
		case before != after:
			d.Changed = append(d.Changed, report.File{Sign: "~", Path: path})
		}
	}
	return d, nil
}
