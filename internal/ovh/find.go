package ovh

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	client "github.com/ovh/go-ovh/ovh"
)

// lists are where the objects of a type of the ovh provider are listed.
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

// CanFind says whether Find knows the type of resource.
func CanFind(kind string) bool { return lists[kind] != nil }

// Find returns the ids of what a create that nobody saw the end of may have made: of
// the kind, a type of the ovh provider, with the name and at the place that the code
// says, and made since. It has not looked where the values that tell it from others are
// not known.
func (a *Account) Find(ctx context.Context, kind string, values map[string]any, since time.Time) (found []string, looked bool, err error) {
	if !CanFind(kind) {
		return nil, false, nil
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
		return nil, false, nil
	}
	var ids []string
	if err := a.api.GetWithContext(ctx, list, &ids); err != nil {
		if missing(err) { // what it would be in is gone
			return nil, true, nil
		}
		return nil, false, fmt.Errorf("look for %s: %w", kind, err)
	}
	for _, id := range ids {
		// A service has a description, a user a username, and a database a name and no
		// time: there is one of a name.
		var one struct {
			Description, Username, Name, Status string
			CreatedAt                           *time.Time
		}
		err := a.api.GetWithContext(ctx, list+"/"+id, &one)
		if missing(err) {
			continue // it went away meanwhile
		}
		if err != nil {
			return nil, false, fmt.Errorf("look for %s: %w", kind, err)
		}
		if slices.Contains([]string{one.Description, one.Username, one.Name}, name) && one.Status != "DELETING" && (one.CreatedAt == nil || !one.CreatedAt.Before(since)) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found, true, nil
}

func missing(err error) bool {
	var refused *client.APIError
	return errors.As(err, &refused) && refused.Code == http.StatusNotFound
}
