// Package ovh asks OVH's API for the managed databases of an environment, and finds
// what an interrupted apply may have made.
package ovh

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	client "github.com/ovh/go-ovh/ovh"
)

// Gone is ours: there is no such database. All other statuses are OVH's:
// cloud.project.database.StatusEnum at
// https://eu.api.ovh.com/console/?section=%2Fcloud&branch=v1
const Gone = "GONE"

// timeout bounds each request. There is no second try: who asked can ask again.
const timeout = 30 * time.Second

// An Account is a connection to OVH's API.
type Account struct{ api *client.Client }

// Required are the variables among the credentials without which nothing can be
// asked.
var Required = []string{"OVH_ENDPOINT", "OVH_APPLICATION_KEY", "OVH_APPLICATION_SECRET", "OVH_CONSUMER_KEY"}

// Connect takes the variables that the ovh provider reads, too. It asks nothing yet.
func Connect(variables map[string]string) (*Account, error) {
	for _, name := range Required {
		if variables[name] == "" {
			return nil, fmt.Errorf("%s is not set", name)
		}
	}
	endpoint := variables["OVH_ENDPOINT"]
	if !strings.Contains(endpoint, "/") { // a name, and no URL
		known, ok := client.Endpoints[endpoint]
		if !ok {
			return nil, fmt.Errorf("OVH_ENDPOINT is %q, which is no URL and none of %s", endpoint, strings.Join(slices.Sorted(maps.Keys(client.Endpoints)), ", "))
		}
		endpoint = known
	}
	// client.NewClient would also look into the process's environment and into three
	// files, ~/.ovh.conf among them.
	api := &client.Client{
		AppKey: variables["OVH_APPLICATION_KEY"], AppSecret: variables["OVH_APPLICATION_SECRET"], ConsumerKey: variables["OVH_CONSUMER_KEY"],
		Client: &http.Client{}, Timeout: timeout,
	}
	if err := api.SetEndpoint(endpoint); err != nil {
		return nil, fmt.Errorf("OVH_ENDPOINT is %q: %w", endpoint, err)
	}
	return &Account{api}, nil
}

// A Database is what is shown of one.
type Database struct {
	ID, Name, Status string
	Address          string // host and port; empty while it has none
}

// Get asks for one database. One that is not there has the status Gone.
//
// https://eu.api.ovh.com/console/?section=%2Fcloud&branch=v1#get-/cloud/project/-serviceName-/database/postgresql/-clusterId-
func (a *Account) Get(ctx context.Context, project, engine, id string) (Database, error) {
	var answer struct {
		Description, Status string
		Endpoints           []endpoint
	}
	err := a.api.GetWithContext(ctx, path(project, engine, id), &answer)
	if missing(err) {
		return Database{ID: id, Status: Gone}, nil
	}
	if err != nil {
		return Database{}, fmt.Errorf("ask for database %s: %w", id, err)
	}
	return Database{ID: id, Name: answer.Description, Status: answer.Status, Address: address(answer.Endpoints, engine)}, nil
}

func path(project, engine string, more ...string) string {
	p := "/cloud/project/" + url.PathEscape(project) + "/database/" + url.PathEscape(engine)
	for _, part := range more {
		p += "/" + url.PathEscape(part)
	}
	return p
}

// An endpoint is where one component of a database is reached: a pooler has one
// beside the database's own.
type endpoint struct {
	Component, Domain string
	Port              int
}

// address picks the database's own endpoint, or else the first.
func address(endpoints []endpoint, engine string) string {
	if len(endpoints) == 0 {
		return ""
	}
	own := max(0, slices.IndexFunc(endpoints, func(e endpoint) bool { return e.Component == engine }))
	return net.JoinHostPort(endpoints[own].Domain, strconv.Itoa(endpoints[own].Port))
}
