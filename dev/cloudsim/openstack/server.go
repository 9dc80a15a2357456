package openstack

import (
	"net/http"
	"time"
)

// A server is the stored form of a server; view returns it as Nova shows it.
type server struct {
	ID, Name          string
	Created, Updated  time.Time
	Launched          time.Time
	Status            string
	Task              string    // current operation; empty: none
	Next              string    // status after the operation
	Due               time.Time // end of the operation
	Fault             *fault
	ImageID, FlavorID string
	OldFlavorID       string // flavor before an unconfirmed resize
	KeyName           string
	PublicKey         string // the key pair's public key when the server was created
	UserData          string // base64
	AdminPass         string
	Metadata          map[string]string
	Tags              []string
	ConfigDrive       bool
	Interfaces        []attachment
	Boots             int // how often it has been switched on again
}

// An attachment is a port of the server.
type attachment struct {
	PortID string
	Made   bool // created and deleted together with the server
}

type fault struct {
	Code    int       `json:"code"`
	Created time.Time `json:"created"`
	Message string    `json:"message"`
}

const gone = "DELETED"

// vmStates and powerStates are further names for a Status.
//
// https://docs.openstack.org/api-guide/compute/server_concepts.html
var (
	vmStates = map[string]string{
		"BUILD": "building", "ACTIVE": "active", "SHUTOFF": "stopped", "ERROR": "error", "REBOOT": "active",
		"REBUILD": "active", "RESIZE": "active", "VERIFY_RESIZE": "resized", "PAUSED": "paused", "SHELVED_OFFLOADED": "shelved_offloaded",
	}
	powerStates = map[string]int{
		"ACTIVE": 1, "REBOOT": 1, "REBUILD": 1, "RESIZE": 1, "VERIFY_RESIZE": 1, "PAUSED": 3, "SHUTOFF": 4, "SHELVED_OFFLOADED": 4,
	}
)

// ports returns the server's ports, in its order. Deleted ports are left out.
func (s *server) ports(q call) ([]port, error) {
	own := []port{}
	for _, a := range s.Interfaces {
		p, ok, err := ports.get(q.tx, a.PortID)
		if err != nil {
			return nil, err
		}
		if ok && p.DeviceID == s.ID {
			own = append(own, p)
		}
	}
	return own, nil
}

func (q call) server() (server, error) {
	s, ok, err := servers.get(q.tx, q.PathValue("id"))
	if err == nil && !ok {
		err = missing("", "Instance %s could not be found.", q.PathValue("id"))
	}
	return s, err
}

// https://docs.openstack.org/api-ref/compute/#show-server-details
func (c *Cloud) showServer(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	v, err := c.view(q, s)
	return http.StatusOK, map[string]any{"server": v}, err
}

// updateServer changes the name.
//
// https://docs.openstack.org/api-ref/compute/#update-server
func (c *Cloud) updateServer(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	asked := struct {
		Name string `json:"name"`
	}{s.Name}
	if err := q.read("server", &asked); err != nil {
		return 0, nil, err
	}
	if s.Name, s.Updated = asked.Name, q.now.Truncate(time.Second); s.Name == "" {
		return 0, nil, bad("Invalid input for field/attribute name.")
	}
	if err := servers.put(q.tx, s.ID, s); err != nil {
		return 0, nil, err
	}
	v, err := c.view(q, s)
	return http.StatusOK, map[string]any{"server": v}, err
}

// https://docs.openstack.org/api-ref/compute/#delete-server
func (c *Cloud) deleteServer(q call) (int, any, error) {
	s, err := q.server()
	if err == nil && s.Next != gone {
		c.begin(q, &s, s.Status, "deleting", gone)
		err = servers.put(q.tx, s.ID, s)
	}
	return http.StatusNoContent, nil, err
}
