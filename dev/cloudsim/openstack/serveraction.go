package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// act performs the action in the body, which is an object with one key.
//
// https://docs.openstack.org/api-ref/compute/#servers-run-an-action-servers-action
func (c *Cloud) act(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(q.body, &body) != nil || len(body) != 1 {
		return 0, nil, bad("There is no such action: the body is not an object with one key.")
	}
	for name, values := range body {
		action := actions[name]
		if action.do == nil {
			return 0, nil, bad("There is no such action: %s", name)
		}
		if name != "forceDelete" && s.Task != "" {
			return 0, nil, conflict("", "Cannot '%s' instance %s while it is in task_state %s", name, s.ID, s.Task)
		}
		if action.from != nil && !slices.Contains(action.from, s.Status) {
			return 0, nil, conflict("", "Cannot '%s' instance %s while it is in vm_state %s", strings.TrimPrefix(name, "os-"), s.ID, vmStates[s.Status])
		}
		if err := action.do(c, q, &s, values); err != nil {
			return 0, nil, err
		}
		if err := servers.put(q.tx, s.ID, s); err != nil {
			return 0, nil, err
		}
		if name == "rebuild" {
			v, err := c.view(q, s)
			return http.StatusAccepted, map[string]any{"server": v}, err
		}
		return action.status, nil, nil
	}
	return 0, nil, nil // the object has only one key
}

// An action is allowed in some statuses; nil: in all.
type action struct {
	from   []string
	status int
	do     func(c *Cloud, q call, s *server, values json.RawMessage) error
}

// becomes returns an action that only changes the status.
func becomes(meanwhile, task, next string) func(*Cloud, call, *server, json.RawMessage) error {
	return func(c *Cloud, q call, s *server, _ json.RawMessage) error {
		status := s.Status
		if meanwhile != "" {
			status = meanwhile
		}
		c.begin(q, s, status, task, next)
		return nil
	}
}

// boots is becomes, and has the machine that plays the server boot it again, however short the
// status was a different one.
func boots(meanwhile, task string) func(*Cloud, call, *server, json.RawMessage) error {
	change := becomes(meanwhile, task, "ACTIVE")
	return func(c *Cloud, q call, s *server, values json.RawMessage) error {
		s.Boots++
		return change(c, q, s, values)
	}
}

// actions are keyed by the names in bodies. As at OVH, a shelved server leaves its machine
// immediately. A reboot is a power cut, also one of the type SOFT: what survives that survives both.
var actions = map[string]action{
	"os-start":            {[]string{"SHUTOFF"}, http.StatusAccepted, boots("", "powering-on")},
	"os-stop":             {[]string{"ACTIVE", "ERROR"}, http.StatusAccepted, becomes("", "powering-off", "SHUTOFF")},
	"reboot":              {[]string{"ACTIVE", "SHUTOFF"}, http.StatusAccepted, boots("REBOOT", "rebooting")},
	"pause":               {[]string{"ACTIVE"}, http.StatusAccepted, becomes("", "pausing", "PAUSED")},
	"unpause":             {[]string{"PAUSED"}, http.StatusAccepted, becomes("", "unpausing", "ACTIVE")},
	"shelve":              {[]string{"ACTIVE", "SHUTOFF", "PAUSED"}, http.StatusAccepted, becomes("", "shelving", "SHELVED_OFFLOADED")},
	"unshelve":            {[]string{"SHELVED_OFFLOADED"}, http.StatusAccepted, becomes("", "unshelving", "ACTIVE")},
	"forceDelete":         {nil, http.StatusAccepted, becomes("", "deleting", gone)},
	"resize":              {[]string{"ACTIVE", "SHUTOFF"}, http.StatusAccepted, resize},
	"confirmResize":       {[]string{"VERIFY_RESIZE"}, http.StatusNoContent, confirmResize},
	"revertResize":        {[]string{"VERIFY_RESIZE"}, http.StatusAccepted, revertResize},
	"rebuild":             {[]string{"ACTIVE", "SHUTOFF", "ERROR"}, http.StatusAccepted, rebuild},
	"changePassword":      {[]string{"ACTIVE"}, http.StatusAccepted, changePassword},
	"addSecurityGroup":    {nil, http.StatusAccepted, addSecurityGroup},
	"removeSecurityGroup": {nil, http.StatusAccepted, removeSecurityGroup},
}

// https://docs.openstack.org/api-ref/compute/#resize-server-resize-action
func resize(c *Cloud, q call, s *server, values json.RawMessage) error {
	var asked struct {
		FlavorRef string `json:"flavorRef"`
	}
	_ = json.Unmarshal(values, &asked) // an empty value has no flavor
	if _, ok := flavorByID(asked.FlavorRef); !ok {
		return bad("Flavor %s could not be found.", asked.FlavorRef)
	}
	if asked.FlavorRef == s.FlavorID {
		return bad("When resizing, instances must change flavor!")
	}
	s.OldFlavorID, s.FlavorID = s.FlavorID, asked.FlavorRef
	c.begin(q, s, "RESIZE", "resize_prep", "VERIFY_RESIZE")
	return nil
}

func confirmResize(_ *Cloud, _ call, s *server, _ json.RawMessage) error {
	s.OldFlavorID, s.Status = "", "ACTIVE"
	return nil
}

func revertResize(c *Cloud, q call, s *server, _ json.RawMessage) error {
	s.FlavorID, s.OldFlavorID = s.OldFlavorID, ""
	c.begin(q, s, "RESIZE", "resize_reverting", "ACTIVE")
	return nil
}

// https://docs.openstack.org/api-ref/compute/#rebuild-server-rebuild-action
func rebuild(c *Cloud, q call, s *server, values json.RawMessage) error {
	var asked struct {
		ImageRef string `json:"imageRef"`
	}
	_ = json.Unmarshal(values, &asked) // an empty value has no image
	if _, ok := imageByID(asked.ImageRef); !ok {
		return bad("Cannot find image for rebuild")
	}
	s.ImageID = asked.ImageRef
	c.begin(q, s, "REBUILD", "rebuilding", "ACTIVE")
	return nil
}

func changePassword(_ *Cloud, _ call, s *server, values json.RawMessage) error {
	var asked struct {
		AdminPass string `json:"adminPass"`
	}
	if json.Unmarshal(values, &asked) != nil || asked.AdminPass == "" {
		return bad("Invalid input for field/attribute changePassword.")
	}
	s.AdminPass = asked.AdminPass
	return nil
}

// https://docs.openstack.org/api-ref/compute/#add-security-group-to-a-server-addsecuritygroup-action
func addSecurityGroup(_ *Cloud, q call, s *server, values json.RawMessage) error {
	return s.eachPort(q, values, func(p *port, id string) {
		if !slices.Contains(p.SecurityGroups, id) {
			p.SecurityGroups = append(p.SecurityGroups, id)
			slices.Sort(p.SecurityGroups)
		}
	})
}

// https://docs.openstack.org/api-ref/compute/#remove-security-group-from-a-server-removesecuritygroup-action
func removeSecurityGroup(_ *Cloud, q call, s *server, values json.RawMessage) error {
	return s.eachPort(q, values, func(p *port, id string) {
		p.SecurityGroups = slices.DeleteFunc(p.SecurityGroups, func(o string) bool { return o == id })
	})
}

// eachPort applies a change with the security group in values to the server's ports.
func (s *server) eachPort(q call, values json.RawMessage, change func(*port, string)) error {
	var asked struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(values, &asked) != nil || asked.Name == "" {
		return bad("Security group not specified")
	}
	fit, err := securityGroups.where(q.tx, func(g securityGroup) bool { return g.ID == asked.Name || g.Name == asked.Name })
	if err != nil {
		return err
	}
	if len(fit) != 1 {
		return missing("", "Security group %s not found for project %s.", asked.Name, projectID)
	}
	own, err := s.ports(q)
	if err != nil {
		return err
	}
	for _, p := range own {
		change(&p, fit[0].ID)
		if err := ports.put(q.tx, p.ID, p); err != nil {
			return err
		}
	}
	return nil
}
