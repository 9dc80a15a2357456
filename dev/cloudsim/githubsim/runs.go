package githubsim

import (
	"net/http"
	"slices"
)

// A Run is a completed run of a workflow.
type Run struct {
	Workflow   string `json:"workflow"` // its file's name
	Branch     string `json:"branch"`
	Conclusion string `json:"conclusion"` // such as success, failure or cancelled
}

// AddRun adds a run, later than all others.
func (s *Server) AddRun(repository string, run Run) {
	s.lock.Lock()
	defer s.lock.Unlock()
	r := s.repository(repository)
	r.Runs = append(r.Runs, run)
	s.mustSave()
}

// listRuns lists runs of a workflow, the last one first.
//
// https://docs.github.com/en/rest/actions/workflow-runs#list-workflow-runs-for-a-workflow
func (c *call) listRuns() answer {
	type runJSON struct {
		HeadBranch string `json:"head_branch"`
		Status     string `json:"status"`
		Conclusion string `json:"conclusion"`
	}
	branch, status := c.FormValue("branch"), c.FormValue("status")
	list := []runJSON{}
	for _, run := range slices.Backward(c.server.repository(c.repositoryName()).Runs) {
		if run.Workflow == c.PathValue("workflow") && (branch == "" || branch == run.Branch) && (status == "" || status == "completed") {
			list = append(list, runJSON{run.Branch, "completed", run.Conclusion})
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{"total_count": len(list), "workflow_runs": list}}
}
