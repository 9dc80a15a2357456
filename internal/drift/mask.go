package drift

import (
	"slices"

	"slipway/internal/plan"
	"slipway/internal/report"
)

// Masked returns c with mask applied to every text that can contain a value, as
// report.Environment.Masked does.
func (c Check) Masked(mask func(string) string) Check {
	c.Error, c.Hint = mask(c.Error), mask(c.Hint)
	c.Expired = maskAddresses(c.Expired, mask)
	c.Hosts = slices.Clone(c.Hosts)
	for i := range c.Hosts {
		c.Hosts[i].Task, c.Hosts[i].Item = mask(c.Hosts[i].Task), mask(c.Hosts[i].Item)
	}
	c.Cluster = c.Cluster.masked(mask)
	c.Layers = slices.Clone(c.Layers)
	for i := range c.Layers {
		l := &c.Layers[i]
		l.Cloud, l.Noted, l.Unapplied = slices.Clone(l.Cloud), slices.Clone(l.Noted), slices.Clone(l.Unapplied)
		for j := range l.Cloud {
			l.Cloud[j].Address = report.MaskAddress(l.Cloud[j].Address, mask)
			l.Cloud[j].Values = plan.Concealed(l.Cloud[j].Values, mask)
		}
		for j := range l.Noted {
			l.Noted[j].Address = report.MaskAddress(l.Noted[j].Address, mask)
			l.Noted[j].Values = plan.Concealed(l.Noted[j].Values, mask)
		}
		for j := range l.Unapplied {
			l.Unapplied[j].Address = report.MaskAddress(l.Unapplied[j].Address, mask)
			l.Unapplied[j].From = report.MaskAddress(l.Unapplied[j].From, mask)
			l.Unapplied[j].Values = plan.Concealed(l.Unapplied[j].Values, mask)
		}
		l.Expected = maskAddresses(l.Expected, mask)
	}
	return c
}

func maskAddresses(addresses []string, mask func(string) string) []string {
	addresses = slices.Clone(addresses)
	for i := range addresses {
		addresses[i] = report.MaskAddress(addresses[i], mask)
	}
	return addresses
}
