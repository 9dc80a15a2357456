package managed

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"slipway/dev/cloudsim/ask"
)

// A Player is the first program of the services' container.
type Player struct {
	Cloud string // URL of cloudsim
	Name  string
	Data  string // folder for the clusters' data

	lock   *os.File
	plays  *server // nil: no cluster
	routes routes
}

// Names of files beside the clusters' folders.
const (
	lockName = "lock"
	logName  = "pebble.log"
)

// Play plays what the desk assigns, until ctx ends. It waits for another player on the same data.
func (p *Player) Play(ctx context.Context) error {
	// PostgreSQL inherits the file, so a lock is held until the last of its processes has ended.
	lock, err := os.OpenFile(filepath.Join(p.Data, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("wait for another player on %s: %w", p.Data, err)
	}
	p.lock = lock
	go p.pebble(ctx)
	said := "" // an error that stays is reported once
	for {
		var next Assignment
		err := ask.JSON(ctx, p.Cloud+Path+p.Name, &next)
		if err == nil {
			err = p.become(ctx, next)
		}
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && err.Error() != said:
			said = err.Error()
			log.Printf("error: %v", err)
		}
		select {
		case <-ctx.Done():
			return p.halt()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// become does what has to be done between the current and the next assignment.
func (p *Player) become(ctx context.Context, next Assignment) error {
	if p.plays != nil && (next.Cluster == nil || next.Cluster.ID != p.plays.cluster.ID) {
		if err := p.halt(); err != nil {
			return err
		}
	}
	if err := p.wipeOthers(next.Clusters); err != nil {
		return err
	}
	if next.Cluster == nil {
		return nil
	}
	if p.plays == nil {
		p.plays = &server{dir: filepath.Join(p.Data, next.Cluster.ID), lock: p.lock}
	}
	if err := p.routes.set(ctx, next.Cluster.Port, next.Sources); err != nil {
		return err
	}
	return p.plays.become(ctx, *next.Cluster)
}

// wipeOthers deletes the data of clusters that no longer exist.
func (p *Player) wipeOthers(keep []string) error {
	entries, err := os.ReadDir(p.Data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || slices.Contains(keep, e.Name()) {
			continue
		}
		log.Printf("the data of %s is wiped", e.Name())
		if err := os.RemoveAll(filepath.Join(p.Data, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (p *Player) halt() error {
	if p.plays == nil {
		return nil
	}
	err := p.plays.stop()
	p.plays = nil
	return err
}
