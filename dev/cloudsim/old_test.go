package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/ovh/go-ovh/ovh"
)

// What an earlier bbolt has written is read, and can be changed: whoever has an environment
// local keeps it. The files in testdata are those that cloudsim left with bbolt 1.3.5.
func TestOldData(t *testing.T) {
	data := t.TempDir()
	for _, name := range []string{"s3.bolt", "openstack.bolt", "ovh.bolt"} {
		packed, err := os.Open(filepath.Join("testdata/bbolt-1.3.5", name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		reader, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const object = "/old-bucket/test/test.tfstate"
	content := func(url string) string {
		t.Helper()
		response, err := http.Get(url + object)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	records := func(url string) (ids []int64) {
		t.Helper()
		client, err := ovh.NewClient(url+"/-/ovh", "key", "cloudsim-application-secret", "consumer")
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Get("/domain/zone/example.org/record?subDomain=old", &ids); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	url, stop := start(t, data)
	if got := content(url); got != "made with bbolt 1.3.5" {
		t.Errorf("the object is %q", got)
	}
	if got := records(url); !slices.Equal(got, []int64{5000000001}) {
		t.Errorf("the records are %v", got)
	}
	pages, err := networks.List(neutron(t, url), networks.ListOpts{Name: "Ext-Net"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if there, err := networks.ExtractNetworks(pages); err != nil || len(there) != 1 {
		t.Errorf("%d networks are there: %v", len(there), err)
	}
	if status := do(t, http.MethodPut, url+object, "changed"); status != http.StatusOK {
		t.Errorf("a change: %d", status)
	}
	stop()
	url, _ = start(t, data)
	if got := content(url); !strings.Contains(got, "changed") || len(records(url)) != 1 {
		t.Errorf("after a change and a restart the object is %q", got)
	}
}
