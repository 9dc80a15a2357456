package ovh

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

// record is the type of DNS records.
const record = "ovh_domain_zone_record"

// findRecords returns the ids of the records with the name, the type and the target that
// the code says. OVH reports no age for a record; one that agrees in all of these is what the code
// wants, whoever created it.
//
// https://eu.api.ovh.com/console/?section=%2Fdomain&branch=v1#get-/domain/zone/-zoneName-/record
func (a *Account) findRecords(ctx context.Context, values map[string]any) (found []string, looked bool, err error) {
	text := func(attribute string) string { value, _ := values[attribute].(string); return value }
	zone, kind, target := text("zone"), text("fieldtype"), text("target")
	if zone == "" || kind == "" || target == "" {
		return nil, false, nil
	}
	list := "/domain/zone/" + url.PathEscape(zone) + "/record"
	var ids []int64
	err = a.api.GetWithContext(ctx, list+"?"+url.Values{"fieldType": {kind}, "subDomain": {text("subdomain")}}.Encode(), &ids)
	if missing(err) { // the zone is gone, and its records with it
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("look for %s: %w", record, err)
	}
	for _, id := range ids {
		id := strconv.FormatInt(id, 10)
		var one struct{ Target string }
		err := a.api.GetWithContext(ctx, list+"/"+id, &one)
		if missing(err) {
			continue // it went away meanwhile
		}
		if err != nil {
			return nil, false, fmt.Errorf("look for %s: %w", record, err)
		}
		if one.Target == target {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found, true, nil
}
