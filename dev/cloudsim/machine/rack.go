// Package machine plays the servers of the simulated cloud: a machine is a container with its own
// systemd and cloud-init, which plays one server as long as that exists. The rack assigns the
// servers.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
)

// A Server is a server that can be played.
type Server struct {
	ID        string   `json:"id"` // empty: no server
	Name      string   `json:"name"`
	Status    string   `json:"status"`
	Boots     int      `json:"boots"` // how often the API has switched it on again
	Addresses []string `json:"-"`     // in all networks

	Networks map[string][]string `json:"-"` // addresses by network ID
	Public   string              `json:"-"` // public IPv4 address; empty: none
}

// A Rack assigns each machine one server, and remembers which.
type Rack struct {
	// Off tells the cloud that a server has switched itself off.
	Off func(id string) error

	servers func() ([]Server, error) // all servers, oldest first
	path    string                   // path of the file with the assignments

	// Resolve returns the address of a server that a name in the cloud's zones leads to.
	Resolve func(name string) (address string, err error)

	mu    sync.Mutex
	parts map[string]string // server by machine
	at    map[string]string // last known address of the machine
}

// NewRack creates a rack for the servers of a cloud.
func NewRack(path string, servers func() ([]Server, error)) (*Rack, error) {
	r := &Rack{servers: servers, path: path, parts: map[string]string{}, at: map[string]string{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(data, &r.parts)
}

// Path is where a machine requests its server: GET Path + its name. With POST, and the server's ID
// as the value of offKey, it tells that its server has switched itself off.
const (
	Path   = "/-/machines/"
	offKey = "off"
)

// ServeHTTP tells a machine which server to play. Machines poll it, and so the rack learns where
// each machine is.
func (r *Rack) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	host, _, err := net.SplitHostPort(request.RemoteAddr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if id := request.URL.Query().Get(offKey); request.Method == http.MethodPost && id != "" {
		if err := r.Off(id); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	server, err := r.part(request.URL.Path[len(Path):], host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(server) // the machine may be gone
}

// part returns the server for a machine: the one it played before, or the oldest that nobody plays.
func (r *Rack) part(machine, host string) (Server, error) {
	all, err := r.servers()
	if err != nil {
		return Server{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[machine] = host
	is := func(id string) func(Server) bool { return func(s Server) bool { return s.ID == id } }
	for m, id := range r.parts {
		if !slices.ContainsFunc(all, is(id)) {
			delete(r.parts, m)
		}
	}
	if i := slices.IndexFunc(all, is(r.parts[machine])); i >= 0 {
		return all[i], nil
	}
	for _, s := range all {
		taken := false
		for _, id := range r.parts {
			taken = taken || id == s.ID
		}
		if !taken {
			r.parts[machine] = s.ID
			return s, r.remember()
		}
	}
	return Server{}, nil
}

func (r *Rack) remember() error {
	data, err := json.Marshal(r.parts)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(r.path+".new", r.path)
}

// A Place is a server and the address of the machine that plays it.
type Place struct {
	Server
	At string
}

// Places lists the servers that a machine plays.
func (r *Rack) Places() ([]Place, error) {
	all, err := r.servers()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Place
	for _, s := range all {
		for machine, id := range r.parts {
			if at := r.at[machine]; id == s.ID && at != "" {
				list = append(list, Place{s, at})
			}
		}
	}
	return list, nil
}

// Dial connects to a server's address, or to a name of it, wherever the machine that plays it is.
func (r *Rack) Dial(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	all, err := r.servers()
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil && r.Resolve != nil {
		if host, err = r.Resolve(host); err != nil {
			return nil, err
		}
	}
	i := slices.IndexFunc(all, func(s Server) bool { return slices.Contains(s.Addresses, host) && s.Status == "ACTIVE" })
	if i < 0 {
		return nil, fmt.Errorf("no running server has the address %s", host)
	}
	places, err := r.Places()
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if p.ID == all[i].ID {
			return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(p.At, port))
		}
	}
	return nil, fmt.Errorf("no machine plays the server %s", all[i].Name)
}
