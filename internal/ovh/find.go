package ovh

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	client "github.com/ovh/go-ovh/ovh"
)

// lists returns the API path that lists the objects of a resource type of the ovh provider.
var lists = map[string]func(text func(attribute string) string) string{
	"ovh_cloud_project_database": func(text func(string) string) string {
		return path(text("service_name"), text("engine"))
	},
	"ovh_cloud_project_database_database": func(text func(string) string) string {
		return path(text("service_name"), text("engine"), text("cluster_id"), "database")
	},
	"ovh_cloud_project_database_postgresql_user": func(text func(string) string) string {
		return path(text("service_name"), "postgresql", text("cluster_id"), "user")
	},
}

// CanFind reports whether Find supports the resource type.
func CanFind(kind string) bool { return kind == record || lists[kind] != nil }

// Find returns the IDs of the objects that an interrupted create may have left: objects of that
// resource type with the name and location of the code, created since then. If OVH does not report
// an object's age, the object counts as found if its service was created since then. Otherwise it
// is undated and may belong to anybody. looked is false if an attribute needed to identify the
// object is not known.
func (a *Account) Find(ctx context.Context, kind string, values map[string]any, since time.Time) (found, undated []string, looked bool, err error) {
	if !CanFind(kind) {
		return nil, nil, false, nil
	}
	if kind == record {
		found, looked, err = a.findRecords(ctx, values)
		return found, nil, looked, err
	}
	known := true
	list := lists[kind](func(attribute string) string {
		text, _ := values[attribute].(string)
		known = known && text != ""
		return text
	})
	name, _ := values["name"].(string)
	if kind == "ovh_cloud_project_database" {
		name, _ = values["description"].(string)
	}
	if !known || name == "" {
		return nil, nil, false, nil
	}
	var ids []string
	if err := a.api.GetWithContext(ctx, list, &ids); err != nil {
		if missing(err) { // its parent is gone
			return nil, nil, true, nil
		}
		return nil, nil, false, fmt.Errorf("look for %s: %w", kind, err)
	}
	for _, id := range ids {
		one, err := a.object(ctx, list+"/"+id)
		if missing(err) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, nil, false, fmt.Errorf("look for %s: %w", kind, err)
		}
		if !slices.Contains([]string{one.Description, one.Username, one.Name}, name) || one.Status == "DELETING" {
			continue
		}
		made := one.CreatedAt
		if made == nil && kind != "ovh_cloud_project_database" {
			service, err := a.object(ctx, list[:strings.LastIndex(list, "/")])
			if err != nil {
				return nil, nil, false, fmt.Errorf("look for %s: %w", kind, err)
			}
			// If the service is older, its age says nothing about the objects in it.
			if service.CreatedAt != nil && !service.CreatedAt.Before(since) {
				made = service.CreatedAt
			}
		}
		switch {
		case made == nil:
			undated = append(undated, id)
		case !made.Before(since):
			found = append(found, id)
		}
	}
	slices.Sort(found)
	slices.Sort(undated)
	return found, undated, true, nil
}

// An object is what the API returns: a service has a description, a user a username, and a database
// a name and no time.
type object struct {
	Description, Username, Name, Status string
	CreatedAt                           *time.Time
}

func (a *Account) object(ctx context.Context, at string) (one object, err error) {
	err = a.api.GetWithContext(ctx, at, &one)
	return one, err
}

func missing(err error) bool {
	var refused *client.APIError
	return errors.As(err, &refused) && refused.Code == http.StatusNotFound
}
