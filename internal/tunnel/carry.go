package tunnel

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// An Error says why a connection could not be opened, or ended.
type Error struct {
	why   string
	cause error
}

// Error returns a text that can be shown: it contains nothing that a machine has written.
func (e *Error) Error() string { return e.why }

func (e *Error) Unwrap() error { return e.cause }

func because(cause error, format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...), cause}
}

// carry makes a connection of one from SSH, which knows no deadline, and whose Close waits for the bastion. When
// nothing more arrives, ended says whether that is because the bastion is gone: SSH has the same EOF for both.
func carry(channel net.Conn, ended func() error) net.Conn {
	ours, theirs := net.Pipe()
	c := &carried{Conn: ours, over: make(chan struct{})}
	go func() {
		_, _ = io.Copy(channel, theirs)
		_ = theirs.Close() // a writer need not read to learn that the bastion is gone
		_ = channel.Close()
	}()
	go func() {
		_, _ = io.Copy(theirs, channel)
		c.lost = ended()
		close(c.over)
		_ = theirs.Close()
	}()
	return c
}

type carried struct {
	net.Conn
	over chan struct{} // closed when lost is set
	lost error
}

// Read returns an Error if the bastion is gone, and io.EOF if the other side has closed the connection.
func (c *carried) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		<-c.over
		if c.lost != nil {
			err = c.lost
		}
	}
	return n, err
}
