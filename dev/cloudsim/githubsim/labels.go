package githubsim

import (
	"net/http"
	"net/url"
	"strings"
)

type labelJSON struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Color string `json:"color"`
}

func (c *call) showLabel(name string) labelJSON {
	return labelJSON{name, c.base + "/repos/" + c.repositoryName() + "/labels/" + url.PathEscape(name), "ededed"}
}

// createLabel refuses a label that already exists.
//
// https://docs.github.com/en/rest/issues/labels#create-a-label
func (c *call) createLabel() answer {
	var label struct {
		Name string `json:"name"`
	}
	if a, ok := c.decode(&label); !ok {
		return a
	}
	repository := c.repository()
	if strings.TrimSpace(label.Name) == "" {
		return invalid(field{"Label", "missing_field", "name", ""})
	}
	if hasLabel(repository.Labels, label.Name) {
		return invalid(field{"Label", "already_exists", "name", ""})
	}
	repository.Labels = append(repository.Labels, label.Name)
	return answer{status: http.StatusCreated, body: c.showLabel(label.Name)}
}
