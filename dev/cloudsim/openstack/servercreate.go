package openstack

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// serverRequest is the relevant part of a https://docs.openstack.org/api-ref/compute/#create-server
// request.
type serverRequest struct {
	Name        string            `json:"name"`
	ImageRef    string            `json:"imageRef"`
	FlavorRef   string            `json:"flavorRef"`
	KeyName     string            `json:"key_name"`
	UserData    string            `json:"user_data"`
	AdminPass   string            `json:"adminPass"`
	Metadata    map[string]string `json:"metadata"`
	Tags        []string          `json:"tags"`
	ConfigDrive bool              `json:"config_drive"`
	Zone        string            `json:"availability_zone"`
	Networks    json.RawMessage   `json:"networks"` // a list, auto, none, or nothing
	Groups      []struct {
		Name string `json:"name"`
	} `json:"security_groups"`
	Disks []struct {
		Destination string `json:"destination_type"`
		Source      string `json:"source_type"`
		UUID        string `json:"uuid"`
		Index       int    `json:"boot_index"`
	} `json:"block_device_mapping_v2"`
}

type networkRequest struct {
	UUID    string `json:"uuid"`
	Port    string `json:"port"`
	FixedIP string `json:"fixed_ip"`
}

// createServer checks everything that Nova checks before it responds; the rest takes until Pace is
// over.
func (c *Cloud) createServer(q call) (int, any, error) {
	var asked serverRequest
	if err := q.read("server", &asked); err != nil {
		return 0, nil, err
	}
	s := server{
		ID: newID(), Name: asked.Name, Created: q.now, Updated: q.now.Truncate(time.Second),
		ImageID: asked.ImageRef, FlavorID: asked.FlavorRef, KeyName: asked.KeyName, UserData: asked.UserData, AdminPass: asked.AdminPass,
		Metadata: asked.Metadata, Tags: asked.Tags, ConfigDrive: asked.ConfigDrive,
	}
	if s.Metadata == nil {
		s.Metadata = map[string]string{}
	}
	if s.Tags == nil {
		s.Tags = []string{}
	}
	if s.AdminPass == "" {
		s.AdminPass = rand.Text()[:12]
	}
	if err := s.check(q, asked); err != nil {
		return 0, nil, err
	}
	f, _ := flavorByID(s.FlavorID)
	if err := withinQuota(q, f); err != nil {
		return 0, nil, err
	}
	groups, err := findGroups(q, asked)
	if err != nil {
		return 0, nil, err
	}
	wanted, err := wantedNetworks(q, asked.Networks)
	if err != nil {
		return 0, nil, err
	}
	for _, n := range wanted {
		if err := s.attach(q, n, groups); err != nil {
			return 0, nil, err
		}
	}
	c.begin(q, &s, "BUILD", "spawning", "ACTIVE")
	if err := servers.put(q.tx, s.ID, s); err != nil {
		return 0, nil, err
	}
	names := []any{}
	for _, g := range groups {
		names = append(names, map[string]string{"name": g.Name})
	}
	return http.StatusAccepted, map[string]any{"server": map[string]any{
		"id": s.ID, "links": c.link(q, "servers/"+s.ID), "adminPass": s.AdminPass, "OS-DCF:diskConfig": "MANUAL", "security_groups": names,
	}}, nil
}

func (s *server) check(q call, asked serverRequest) error {
	for _, d := range asked.Disks {
		if d.Destination != "local" || d.Source != "image" {
			return bad("Block Device Mapping is Invalid: this cloud has no volumes.")
		}
		if d.Index == 0 && s.ImageID == "" {
			s.ImageID = d.UUID
		}
	}
	if strings.TrimSpace(s.Name) == "" {
		return bad("Invalid input for field/attribute name.")
	}
	if _, ok := imageByID(s.ImageID); !ok {
		return bad("Can not find requested image")
	}
	if _, ok := flavorByID(s.FlavorID); !ok {
		return bad("Flavor %s could not be found.", s.FlavorID)
	}
	if asked.Zone != "" && asked.Zone != "nova" {
		return bad("The requested availability zone is not available")
	}
	if _, err := base64.StdEncoding.DecodeString(s.UserData); err != nil || len(s.UserData) > 65535 {
		return bad("Invalid input for field/attribute user_data. It must be base64 and have at most 65535 characters.")
	}
	if s.KeyName == "" {
		return nil
	}
	k, ok, err := keypairs.get(q.tx, s.KeyName)
	if err == nil && !ok {
		err = bad("Invalid key_name provided.")
	}
	s.PublicKey = k.PublicKey
	return err
}
