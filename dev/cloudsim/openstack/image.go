package openstack

import (
	"net/http"
	"strings"
)

// image is Glance: https://docs.openstack.org/api-ref/image/v2/
func (c *Cloud) image() {
	c.handle("GET /image/v2/images", c.listImages, failGlance)
	c.handle("GET /image/v2/images/{id}", c.showImage, failGlance)
}

// https://docs.openstack.org/api-ref/image/v2/#show-image
type image struct {
	ID              string   `json:"id"`
	Name            string   `json:"name"`
	Status          string   `json:"status"`
	Visibility      string   `json:"visibility"`
	Protected       bool     `json:"protected"`
	Hidden          bool     `json:"os_hidden"`
	Owner           string   `json:"owner"`
	ContainerFormat string   `json:"container_format"`
	DiskFormat      string   `json:"disk_format"`
	MinDisk         int      `json:"min_disk"`
	MinRAM          int      `json:"min_ram"`
	Size            int64    `json:"size"`
	Checksum        string   `json:"checksum"`
	Tags            []string `json:"tags"`
	CreatedAt       string   `json:"created_at"`
	UpdatedAt       string   `json:"updated_at"`
	Self            string   `json:"self"`
	File            string   `json:"file"`
	Schema          string   `json:"schema"`
	DefaultUser     string   `json:"image_original_user"` // where OVH stores the name of the login user
}

var images = []image{
	system("1", "Debian 12", "debian", "2023-06-12T08:00:00Z"),
	system("2", "Debian 13", "debian", "2025-08-11T08:00:00Z"),
	system("3", "Ubuntu 24.04", "ubuntu", "2024-04-26T08:00:00Z"),
}

func system(number, name, user, made string) image {
	id := "11111111-0000-4000-8000-00000000000" + number
	return image{
		ID: id, Name: name, Status: "active", Visibility: "public", Owner: elsewhere, ContainerFormat: "bare", DiskFormat: "qcow2",
		Size: 400 << 20, Checksum: strings.Repeat(number, 32), Tags: []string{}, CreatedAt: made, UpdatedAt: made,
		Self: "/v2/images/" + id, File: "/v2/images/" + id + "/file", Schema: "/v2/schemas/image", DefaultUser: user,
	}
}

// https://docs.openstack.org/api-ref/image/v2/#list-images
func (c *Cloud) listImages(q call) (int, any, error) {
	query := q.URL.Query()
	query.Del("sort")
	if query.Get("visibility") == "all" {
		query.Del("visibility")
	}
	if tags := query["tag"]; tags != nil {
		query["tags"] = tags
		query.Del("tag")
	}
	found, err := fitting(images, query)
	return http.StatusOK, map[string]any{"images": found, "schema": "/v2/schemas/images", "first": "/v2/images"}, err
}

func imageByID(id string) (image, bool) {
	for _, i := range images {
		if i.ID == id {
			return i, true
		}
	}
	return image{}, false
}

// https://docs.openstack.org/api-ref/image/v2/#show-image
func (c *Cloud) showImage(q call) (int, any, error) {
	i, ok := imageByID(q.PathValue("id"))
	if !ok {
		return 0, nil, missing("", "No image found with ID %s", q.PathValue("id"))
	}
	return http.StatusOK, i, nil
}
