package ovh

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

const diskType = "high-speed"

// A cluster is the stored form of a cluster; view returns it as the API shows it.
type cluster struct {
	ID, Service     string
	Created         time.Time
	State           state
	Description     string
	Version, Plan   string
	Flavor, Region  string
	Nodes           []string // IDs of the nodes
	Disk            int      // GB
	Network, Subnet string
	Backups         backups
	Maintenance     string
	Advanced        map[string]string
	Users           []user
	Databases       []database
	Restrictions    []restriction
	Certificates    Certificates
}

// port is that of all clusters.
const port = 20184

// domain is the name at which the cluster is reached.
func (k *cluster) domain() string {
	return fmt.Sprintf("postgresql-%s.database.%s.invalid", k.ID[:8], strings.ToLower(k.Region))
}

type backups struct {
	Regions []string `json:"regions"`
	Time    string   `json:"time"`
}

const postgresql = "/cloud/project/{service}/database/postgresql"

// postgresql adds the endpoints below
// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql
func (c *Cloud) postgresql() {
	c.handle("GET "+postgresql, c.listClusters)
	c.handle("GET /cloud/project/{service}/database/service", c.listClusters)
	c.handle("POST "+postgresql, c.createCluster)
	one := postgresql + "/{cluster}"
	c.handle("GET "+one, c.showCluster)
	c.handle("PUT "+one, c.updateCluster)
	c.handle("DELETE "+one, c.deleteCluster)
	c.handle("GET "+one+"/node", c.listNodes)
	c.handle("GET "+one+"/node/{id}", c.showNode)
	c.handle("GET "+one+"/advancedConfiguration", c.showAdvanced)
	c.handle("PUT "+one+"/advancedConfiguration", c.updateAdvanced)
	c.handle("GET "+one+"/certificates", c.showCertificates)

	c.handle("GET "+one+"/user", c.listUsers)
	c.handle("POST "+one+"/user", c.createUser)
	c.handle("GET "+one+"/user/{id}", c.showUser)
	c.handle("PUT "+one+"/user/{id}", c.updateUser)
	c.handle("DELETE "+one+"/user/{id}", c.deleteUser)
	c.handle("POST "+one+"/user/{id}/credentials/reset", c.resetUser)

	c.handle("GET "+one+"/database", c.listDatabases)
	c.handle("POST "+one+"/database", c.createDatabase)
	c.handle("GET "+one+"/database/{id}", c.showDatabase)
	c.handle("DELETE "+one+"/database/{id}", c.deleteDatabase)

	c.handle("GET "+one+"/ipRestriction", c.listRestrictions)
	c.handle("POST "+one+"/ipRestriction", c.createRestriction)
	c.handle("GET "+one+"/ipRestriction/{ip}", c.showRestriction)
	c.handle("PUT "+one+"/ipRestriction/{ip}", c.updateRestriction)
	c.handle("DELETE "+one+"/ipRestriction/{ip}", c.deleteRestriction)
}

// view returns the cluster in the format of
// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}~GET
func (k *cluster) view() map[string]any {
	domain := k.domain()
	network := "public"
	if k.Network != "" {
		network = "private"
	}
	restrictions := []any{}
	for _, r := range k.Restrictions {
		restrictions = append(restrictions, r.view())
	}
	nodes := []any{}
	for _, id := range k.Nodes {
		nodes = append(nodes, k.node(id))
	}
	v := map[string]any{
		"id": k.ID, "createdAt": k.Created, "description": k.Description, "status": k.State.Status, "engine": "postgresql", "category": "operational",
		"version": k.Version, "plan": k.Plan, "flavor": k.Flavor, "region": k.Region, "nodeNumber": len(k.Nodes), "nodes": nodes,
		"disk": map[string]any{"size": k.Disk, "type": diskType}, "storage": map[string]any{"size": map[string]any{"unit": "GB", "value": k.Disk}, "type": diskType},
		"networkType": network, "networkId": nil, "subnetId": nil, "backups": k.Backups, "backupTime": k.Backups.Time, "maintenanceTime": k.Maintenance,
		"ipRestrictions": restrictions, "capabilities": map[string]any{}, "enablePrometheus": false, "deletionProtection": false,
		"endpoints": []any{},
	}
	// Whether the real API returns them earlier is not known; nobody should rely on it.
	if k.State.Status != "PENDING" && k.State.Status != "CREATING" {
		v["endpoints"] = []any{map[string]any{
			"component": "postgresql", "domain": domain, "path": "/defaultdb?sslmode=require", "port": port, "scheme": "postgres", "ssl": true, "sslMode": "require",
			"uri": fmt.Sprintf("postgres://<username>:<password>@%s:%d/defaultdb?sslmode=require", domain, port),
		}}
	}
	if k.Network != "" {
		v["networkId"], v["subnetId"] = k.Network, k.Subnet
	}
	return v
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql~GET
func (c *Cloud) listClusters(q call) (any, error) {
	own, err := where(q.tx, func(k *cluster) bool { return k.Service == q.PathValue("service") })
	ids := []string{}
	for _, k := range own {
		ids = append(ids, k.ID)
	}
	return ids, err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}~GET
func (c *Cloud) showCluster(q call) (any, error) {
	k, err := q.cluster()
	if err != nil {
		return nil, err
	}
	return k.view(), nil
}

// newID returns a version 4 UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
