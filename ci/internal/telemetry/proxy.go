package telemetry

// FIXME: this file exists to plant a "tombstone" over the previously generated
// proxy.go file.
//
// We should maybe just withoutDirectory('./internal') or something instead.
