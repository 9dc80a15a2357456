package ovh

import (
	"net/http/httptest"
	"testing"
	"time"
)

// A state goes through all of its statuses, each at its time.
func TestState(t *testing.T) {
	start := time.Unix(1700000000, 0)
	c := &Cloud{Pace: 10 * time.Second}
	var s state
	c.begin(call{Request: httptest.NewRequest("POST", "/", nil), now: start}, &s, "PENDING", "CREATING", ready)
	for _, one := range []struct {
		after time.Duration
		want  string
		moved bool
	}{
		{0, "PENDING", false}, {4 * time.Second, "PENDING", false}, {5 * time.Second, "CREATING", true}, {9 * time.Second, "CREATING", false},
		{10 * time.Second, ready, true}, {time.Hour, ready, false},
	} {
		if moved := s.settle(start.Add(one.after)); moved != one.moved || s.Status != one.want {
			t.Errorf("after %s it is %s", one.after, s.Status)
		}
	}
	c.begin(call{Request: httptest.NewRequest("DELETE", "/", nil), now: start}, &s, "DELETING", deleted)
	if moved := s.settle(start.Add(time.Hour)); !moved || s.Status != deleted {
		t.Errorf("in the end it is %s", s.Status)
	}
}
