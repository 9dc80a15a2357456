package ovh

import (
	"context"
	"net/url"
	"strconv"
)

// record is the type of DNS records.
const record = "ovh_domain_zone_record"

// findRecords returns the ids of the records with the name, the type and the target that
// the code says. OVH reports no age for a record; one that agrees in all of these is what the code
// wants, whoever created it. certain is false if some of these are not known, and a record agrees in
// the others, or if too little is known to look at all.
//
// https://eu.api.ovh.com/console/?section=%2Fdomain&branch=v1#get-/domain/zone/-zoneName-/record
func (a *Account) findRecords(ctx context.Context, want attributes) (found []string, certain bool, err error) {
	if want.lacks("zone", "fieldtype") {
		return nil, false, nil
	}
	list := "/domain/zone/" + url.PathEscape(want.text("zone")) + "/record"
	query := url.Values{"fieldType": {want.text("fieldtype")}}
	_, named := want["subdomain"] // null and "" are the zone itself
	if named {
		query.Set("subDomain", want.text("subdomain"))
	}
	var ids []int64
	err = a.api.GetWithContext(ctx, list+"?"+query.Encode(), &ids)
	if missing(err) { // the zone is gone, and its records with it
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	for _, id := range ids {
		id := strconv.FormatInt(id, 10)
		var one struct{ Target string }
		err := a.api.GetWithContext(ctx, list+"/"+id, &one)
		if missing(err) {
			continue // it went away meanwhile
		}
		if err != nil {
			return nil, false, err
		}
		if want.lacks("target") || one.Target == want.text("target") {
			found = append(found, id)
		}
	}
	return found, named && !want.lacks("target") || len(found) == 0, nil
}
