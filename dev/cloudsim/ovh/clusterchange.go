package ovh

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// clusterRequest is a request for a new cluster or for a change.
type clusterRequest struct {
	Description string  `json:"description"`
	Version     string  `json:"version"`
	Plan        string  `json:"plan"`
	Flavor      string  `json:"flavor"` // only for a change
	NetworkID   string  `json:"networkId"`
	SubnetID    string  `json:"subnetId"`
	Maintenance string  `json:"maintenanceTime"`
	Backups     backups `json:"backups"`
	Disk        struct {
		Size int `json:"size"`
	} `json:"disk"`
	Pattern struct {
		Flavor string `json:"flavor"`
		Number int    `json:"number"`
		Region string `json:"region"`
	} `json:"nodesPattern"`
	Restrictions *[]restrictionRequest `json:"ipRestrictions"`
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql~POST
func (c *Cloud) createCluster(q call) (any, error) {
	var asked clusterRequest
	if err := q.read(&asked); err != nil {
		return nil, err
	}
	if asked.Pattern.Region == "" {
		return nil, bad("Missing nodesPattern.region")
	}
	if (asked.NetworkID == "") != (asked.SubnetID == "") {
		return nil, bad("networkId and subnetId go together")
	}
	if asked.Plan == "" || asked.Version == "" || asked.Pattern.Flavor == "" {
		return nil, bad("Missing plan, version or nodesPattern.flavor")
	}
	asked.Flavor = asked.Pattern.Flavor
	k := cluster{
		ID: newID(), Service: q.PathValue("service"), Created: q.now, Region: asked.Pattern.Region, Network: asked.NetworkID, Subnet: asked.SubnetID,
		Backups: backups{[]string{asked.Pattern.Region}, "02:00:00"}, Maintenance: "03:00:00", Advanced: map[string]string{},
	}
	for range asked.Pattern.Number {
		k.Nodes = append(k.Nodes, newID())
	}
	if err := k.change(asked); err != nil {
		return nil, err
	}
	var err error
	if k.Certificates, err = newCertificates(k.domain(), q.now); err != nil {
		return nil, err
	}
	c.begin(q, &k.State, "PENDING", "CREATING", ready)
	for i := range k.Restrictions {
		k.Restrictions[i].State = k.State
	}
	k.Users = []user{{ID: newID(), Name: administrator, Created: q.now, Roles: []string{}, State: state{Status: ready}}}
	k.Databases = []database{{ID: newID(), Name: "defaultdb", Default: true, State: state{Status: ready}}}
	return k.view(), k.put(q.tx)
}

// change applies the requested values if they are available.
func (k *cluster) change(asked clusterRequest) error {
	if asked.Version != "" {
		was, _ := strconv.Atoi(k.Version)
		will, _ := strconv.Atoi(asked.Version)
		if !slices.Contains(versions, asked.Version) || will < was {
			return bad("Invalid version %q: the current version is %q, available are %s", asked.Version, k.Version, strings.Join(versions, ", "))
		}
		k.Version = asked.Version
	}
	if asked.Plan != "" {
		k.Plan = asked.Plan
	}
	p, err := findPlan(k.Plan)
	if err != nil {
		return err
	}
	if n := len(k.Nodes); n < p.least || n > p.most {
		return bad("Invalid number of nodes %d for plan %s: from %d to %d", n, p.name, p.least, p.most)
	}
	if asked.Flavor != "" {
		k.Flavor = asked.Flavor
	}
	f, err := findFlavor(k.Flavor)
	if err != nil {
		return err
	}
	switch size := asked.Disk.Size; {
	case size == 0:
		k.Disk = max(k.Disk, f.Storage)
	case size < f.Storage || size > 10*f.Storage:
		return bad("Invalid disk size %d for flavor %s: from %d to %d", size, f.Name, f.Storage, 10*f.Storage)
	default:
		k.Disk = size
	}
	if asked.Description != "" {
		k.Description = asked.Description
	}
	if err := changeTime(&k.Maintenance, asked.Maintenance); err != nil {
		return err
	}
	if err := changeTime(&k.Backups.Time, asked.Backups.Time); err != nil {
		return err
	}
	if len(asked.Backups.Regions) > 0 {
		k.Backups.Regions = asked.Backups.Regions
	}
	if err := k.checkAdvanced(); err != nil {
		return err
	}
	return k.changeRestrictions(asked.Restrictions)
}

func changeTime(into *string, asked string) error {
	if asked == "" {
		return nil
	}
	if _, err := time.Parse(time.TimeOnly, asked); err != nil {
		return bad("Invalid time %q: write it as 02:00:00", asked)
	}
	*into = asked
	return nil
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}~PUT
func (c *Cloud) updateCluster(q call) (any, error) {
	k, err := q.ready()
	if err != nil {
		return nil, err
	}
	var asked clusterRequest
	if err := q.read(&asked); err != nil {
		return nil, err
	}
	if err := k.change(asked); err != nil {
		return nil, err
	}
	c.begin(q, &k.State, "UPDATING", ready)
	return k.view(), k.put(q.tx)
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}~DELETE
func (c *Cloud) deleteCluster(q call) (any, error) {
	k, err := q.cluster()
	if err != nil {
		return nil, err
	}
	if k.State.Status != "DELETING" {
		c.begin(q, &k.State, "DELETING", deleted)
	}
	return nil, k.put(q.tx)
}
