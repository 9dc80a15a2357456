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

// inner are the resource types whose objects are inside a database service: the last element of
// their API path.
var inner = map[string]string{
	"ovh_cloud_project_database_database":        "database",
	"ovh_cloud_project_database_postgresql_user": "user",
}

const service = "ovh_cloud_project_database"

// CanFind reports whether Find supports the resource type.
func CanFind(kind string) bool { return kind == record || kind == service || inner[kind] != "" }

// Find returns the IDs of the objects that an interrupted create may have left: objects of that
// resource type with the name and location of the code, created since then. If OVH does not report
// an object's age, the object counts as found if its service was created since then. Otherwise it
// is undated and may belong to anybody.
//
// If a value is not known before the apply, such as the ID of a service in flight itself, each
// object that agrees in the others may be the one: certain is false, unless there is none. It is
// false as well if too little is known to look at all.
func (a *Account) Find(ctx context.Context, kind string, values map[string]any, since time.Time) (found, undated []string, certain bool, err error) {
	switch {
	case kind == record:
		found, certain, err = a.findRecords(ctx, values)
	case kind == service:
		found, undated, certain, err = a.findServices(ctx, values, since)
	case inner[kind] != "":
		found, undated, certain, err = a.findInside(ctx, inner[kind], values, since)
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("look for %s: %w", kind, err)
	}
	slices.Sort(found)
	slices.Sort(undated)
	return found, undated, certain, nil
}

// attributes are the values that the code gives a resource. Unknown values are missing.
type attributes map[string]any

func (a attributes) text(name string) string {
	text, _ := a[name].(string)
	return text
}

// lacks reports whether a value is not known, or empty.
func (a attributes) lacks(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return a.text(name) == "" })
}

func (a *Account) findServices(ctx context.Context, want attributes, since time.Time) (found, undated []string, certain bool, err error) {
	if want.lacks("service_name", "engine") {
		return nil, nil, false, nil
	}
	services, err := a.objects(ctx, path(want.text("service_name"), want.text("engine")))
	for _, one := range services {
		switch {
		case !want.lacks("description") && one.Description != want.text("description"):
		case one.CreatedAt == nil:
			undated = append(undated, one.ID)
		case !one.CreatedAt.Before(since):
			found = append(found, one.ID)
		}
	}
	return found, undated, !want.lacks("description") || len(found)+len(undated) == 0, err
}

// findInside looks in the wanted service, or in all of them if its ID is not known.
func (a *Account) findInside(ctx context.Context, kind string, want attributes, since time.Time) (found, undated []string, certain bool, err error) {
	engine := want.text("engine")
	if kind == "user" {
		engine = "postgresql"
	}
	if want.lacks("service_name") || engine == "" {
		return nil, nil, false, nil
	}
	list := path(want.text("service_name"), engine)
	services := []object{{ID: want.text("cluster_id")}}
	if want.lacks("cluster_id") {
		if services, err = a.objects(ctx, list); err != nil {
			return nil, nil, false, err
		}
	}
	for _, service := range services {
		objects, err := a.objects(ctx, path(want.text("service_name"), engine, service.ID, kind))
		if err != nil {
			return nil, nil, false, err
		}
		for _, one := range objects {
			if !want.lacks("name") && one.Username != want.text("name") && one.Name != want.text("name") {
				continue
			}
			made := one.CreatedAt
			if made == nil {
				service, err := a.object(ctx, list+"/"+service.ID)
				if err != nil {
					return nil, nil, false, err
				}
				// If the service is older, its age says nothing about the objects in it.
				if service.CreatedAt != nil && !service.CreatedAt.Before(since) {
					made = service.CreatedAt
				}
			}
			switch {
			case made != nil && !made.Before(since):
				found = append(found, one.ID)
			// The ID of an older service would be known, so this one is in another.
			case made == nil && !want.lacks("cluster_id"):
				undated = append(undated, one.ID)
			}
		}
	}
	return found, undated, !want.lacks("cluster_id", "name") || len(found)+len(undated) == 0, nil
}

// An object is what the API returns: a service has a description, a user a username, and a database
// a name and no time.
type object struct {
	ID, Description, Username, Name, Status string
	CreatedAt                               *time.Time
}

// objects returns those that a path lists, without those being deleted.
func (a *Account) objects(ctx context.Context, list string) (all []object, err error) {
	var ids []string
	err = a.api.GetWithContext(ctx, list, &ids)
	if missing(err) { // its parent is gone
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		one, err := a.object(ctx, list+"/"+id)
		switch {
		case missing(err): // deleted meanwhile
		case err != nil:
			return nil, err
		case one.Status != "DELETING":
			one.ID = id
			all = append(all, one)
		}
	}
	return all, nil
}

func (a *Account) object(ctx context.Context, at string) (one object, err error) {
	err = a.api.GetWithContext(ctx, at, &one)
	return one, err
}

func missing(err error) bool {
	var refused *client.APIError
	return errors.As(err, &refused) && refused.Code == http.StatusNotFound
}
