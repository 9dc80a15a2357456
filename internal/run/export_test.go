package run

// What the tests of this package look at from outside, because what they use imports it.

func (r *Run) SummaryOf(report string) string { return r.summary(report) }

func (r *Run) OnlyReads() { r.command.Reads = true }
