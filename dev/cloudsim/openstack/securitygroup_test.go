package openstack_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
)

// A group begins with two rules, takes each rule once, and takes those along that
// name it.
func TestSecurityGroup(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	web, db := c.group("web"), c.group("db")
	if len(web.Rules) != 2 || web.Rules[0].Direction != "egress" || web.Rules[0].EtherType == web.Rules[1].EtherType {
		t.Errorf("%+v", web.Rules)
	}
	opts := rules.CreateOpts{SecGroupID: web.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: 443, PortRangeMax: 443, RemoteIPPrefix: "0.0.0.0/0"}
	r, err := rules.Create(t.Context(), c.network, opts).Extract()
	if err != nil || r.PortRangeMin != 443 || r.Protocol != "tcp" || r.RemoteIPPrefix != "0.0.0.0/0" {
		t.Fatalf("%+v, %v", r, err)
	}
	opts.Description = "the same"
	_, err = rules.Create(t.Context(), c.network, opts).Extract()
	refused(t, err, http.StatusConflict)
	for name, change := range map[string]func(*rules.CreateOpts){
		"no protocol":    func(o *rules.CreateOpts) { o.Protocol = "" },
		"backward":       func(o *rules.CreateOpts) { o.PortRangeMin = 500 },
		"other version":  func(o *rules.CreateOpts) { o.RemoteIPPrefix = "::/0" },
		"no prefix":      func(o *rules.CreateOpts) { o.RemoteIPPrefix = "10.0.0.0" },
		"both":           func(o *rules.CreateOpts) { o.RemoteGroupID = db.ID },
		"such direction": func(o *rules.CreateOpts) { o.Direction = "sideways" },
	} {
		wrong := opts
		change(&wrong)
		if _, err := rules.Create(t.Context(), c.network, wrong).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = rules.Create(t.Context(), c.network, rules.CreateOpts{SecGroupID: "x", Direction: rules.DirIngress, EtherType: rules.EtherType4}).Extract()
	refused(t, err, http.StatusNotFound)
	from, err := rules.Create(t.Context(), c.network, rules.CreateOpts{SecGroupID: db.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, RemoteGroupID: web.ID}).Extract()
	must(t, 0, err)
	pages, err := rules.List(c.network, rules.ListOpts{SecGroupID: web.ID, Direction: "ingress"}).AllPages(t.Context())
	if all, err := rules.ExtractRules(must(t, pages, err)); err != nil || len(all) != 1 || all[0].ID != r.ID {
		t.Errorf("%v, %v", all, err)
	}
	must(t, 0, rules.Delete(t.Context(), c.network, r.ID).ExtractErr())
	refused(t, rules.Get(t.Context(), c.network, r.ID).Err, http.StatusNotFound)
	refused(t, rules.Delete(t.Context(), c.network, r.ID).ExtractErr(), http.StatusNotFound)

	text := "what is seen from outside"
	if g, err := groups.Update(t.Context(), c.network, web.ID, groups.UpdateOpts{Name: "www", Description: &text}).Extract(); err != nil || g.Name != "www" || g.Description != text || len(g.Rules) != 2 {
		t.Errorf("%+v, %v", g, err)
	}
	if g, err := groups.Get(t.Context(), c.network, db.ID).Extract(); err != nil || len(g.Rules) != 3 {
		t.Errorf("%+v, %v", g, err)
	}
	c.dropGroup(web.ID)
	refused(t, rules.Get(t.Context(), c.network, from.ID).Err, http.StatusNotFound)
	refused(t, groups.Get(t.Context(), c.network, web.ID).Err, http.StatusNotFound)
	pages, err = groups.List(c.network, groups.ListOpts{Name: "default"}).AllPages(t.Context())
	standard, err2 := groups.ExtractGroups(must(t, pages, err))
	if err2 != nil || len(standard) != 1 || len(standard[0].Rules) != 4 {
		t.Fatalf("%v, %v", standard, err2)
	}
	refused(t, groups.Delete(t.Context(), c.network, standard[0].ID).ExtractErr(), http.StatusConflict)
}
