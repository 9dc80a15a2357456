// Package ovh queries OVH's API for the managed databases of an environment, and finds what an
// interrupted apply may have created.
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

// Gone is our own status: the database does not exist. All others are OVH's:
// cloud.project.database.StatusEnum at https://eu.api.ovh.com/console/?section=%2Fcloud&branch=v1
const Gone = "GONE"

// timeout bounds each request. There is no retry: the caller can repeat the command.
const timeout = 30 * time.Second

// An Account is a connection to OVH's API.
type Account struct{ api *client.Client }

// Required are the credentials without which the API cannot be queried.
var Required = []string{"OVH_ENDPOINT", "OVH_APPLICATION_KEY", "OVH_APPLICATION_SECRET", "OVH_CONSUMER_KEY"}

// Connect takes the same variables as the ovh provider. It does not send a request yet.
func Connect(variables map[string]string) (*Account, error) {
	for _, name := range Required {
		if variables[name] == "" {
			return nil, fmt.Errorf("%s is not set", name)
		}
	}
	endpoint := variables["OVH_ENDPOINT"]
	if !strings.Contains(endpoint, "/") { // a name, not a URL
		known, ok := client.Endpoints[endpoint]
		if !ok {
			return nil, fmt.Errorf("OVH_ENDPOINT is %q, which is neither a URL nor one of %s", endpoint, strings.Join(slices.Sorted(maps.Keys(client.Endpoints)), ", "))
		}
		endpoint = known
	}
	// client.NewClient would also read the process environment and three files, including
	// ~/.ovh.conf.
	api := &client.Client{
		AppKey: variables["OVH_APPLICATION_KEY"], AppSecret: variables["OVH_APPLICATION_SECRET"], ConsumerKey: variables["OVH_CONSUMER_KEY"],
		Client: &http.Client{}, Timeout: timeout,
	}
	if err := api.SetEndpoint(endpoint); err != nil {
		return nil, fmt.Errorf("OVH_ENDPOINT is %q: %w", endpoint, err)
	}
	return &Account{api}, nil
}

// A Database is what is shown of a database.
type Database struct {
	ID, Name, Status string
	Address          string // host and port; empty if it has none yet
}

// Get queries one database. A database that does not exist has the status Gone.
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
		return Database{}, fmt.Errorf("query database %s: %w", id, err)
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

// An endpoint is the address of one component of a database: a connection pooler has an endpoint
// beside the database's own.
type endpoint struct {
	Component, Domain string
	Port              int
}

// address picks the database's own endpoint, otherwise the first.
func address(endpoints []endpoint, engine string) string {
	if len(endpoints) == 0 {
		return ""
	}
	own := max(0, slices.IndexFunc(endpoints, func(e endpoint) bool { return e.Component == engine }))
	return net.JoinHostPort(endpoints[own].Domain, strconv.Itoa(endpoints[own].Port))
}
