package environment

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"slipway/internal/approval"
	"slipway/internal/printable"
	"slipway/internal/settings"
)

var (
	namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
	bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// layerPattern matches one part of a layer's path. The parts become part of a state key.
	layerPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
	// credentialPattern keeps a name inside credentials/.
	credentialPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// ValidName reports whether an environment can have this name.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// check validates the decoded file against the rules and the repository.
func (s *source) check(repository fs.FS, e *Environment) error {
	for _, rule := range []func(fs.FS, *Environment) error{s.checkState, s.checkLayers, s.checkCredentials, s.checkReviewers, s.checkAllow, s.checkDeploy, s.checkVerify, s.checkSSH, s.checkReview, s.checkDrift} {
		if err := rule(repository, e); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) checkState(_ fs.FS, e *Environment) error {
	switch {
	case e.State.S3 != nil && e.State.HTTP != nil:
		return s.Refuse("state", s.Edit("keep one of them"), "state has both s3 and http")
	case e.State.HTTP != nil:
		if e.State.HTTP.Address == "" {
			return s.Refuse("state.http", s.Edit("write http: {address: …}"), "state.http has no address")
		}
		if err := s.checkURL("state.http.address", e.State.HTTP.Address); err != nil {
			return err
		}
		// The user and the password are sent with every request.
		if u, err := url.Parse(e.State.HTTP.Address); err != nil || u.Scheme != "https" && !loopback(u.Hostname()) {
			return s.Refuse("state.http.address", s.Edit("write it as https://host/path"), "state.http.address uses http without TLS: anyone on the network path could read TF_HTTP_PASSWORD")
		}
		return nil
	case e.State.S3 == nil:
		return s.Refuse("state", s.Edit("write state: with s3: or http: below it"), "the file does not say where the state is kept")
	}
	store := e.State.S3
	if store.Bucket == "" {
		return s.Refuse("state.s3", s.Edit("write bucket: and its name"), "state.s3 has no bucket")
	}
	if _, notAddress := netip.ParseAddr(store.Bucket); notAddress == nil || !bucketPattern.MatchString(store.Bucket) || strings.Contains(store.Bucket, "..") {
		return s.Refuse("state.s3.bucket", s.Edit("use 3 to 63 lower-case letters, digits, single dots and dashes, not an IP address"), "%q cannot be the name of a bucket", store.Bucket)
	}
	if store.Region == "" {
		return s.Refuse("state.s3", s.Edit("write region: and the store's name for it, or us-east-1 if it has none"), "state.s3 has no region")
	}
	if store.Endpoint == "" {
		store.Endpoint = "https://s3." + store.Region + ".amazonaws.com"
	}
	if err := s.checkURL("state.s3.endpoint", store.Endpoint); err != nil {
		return err
	}
	store.Endpoint = strings.TrimRight(store.Endpoint, "/")
	// Consoles show the bucket's URL. With that as the endpoint, keys would contain the bucket
	// twice.
	if strings.Count(store.Endpoint, "/") > len("//") {
		return s.Refuse("state.s3.endpoint", s.Edit("write it as https://host; the bucket has its own line"), "state.s3.endpoint has a path")
	}
	return nil
}

func (s *source) checkURL(at, text string) error {
	u, err := url.Parse(text)
	if err == nil && u.User != nil {
		return s.Refuse(at, s.KeepSecret(), "%s contains a user or a password", at)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return s.Refuse(at, s.Edit("write it as https://host/path"), "%s is not an http or https URL", at)
	}
	for key := range u.Query() {
		if settings.SecretName(key) {
			return s.Refuse(at, s.KeepSecret(), "%s contains a secret, %q", at, key)
		}
	}
	// The state's name is appended to it.
	if strings.ContainsAny(text, "?#") {
		return s.Refuse(at, s.Edit("write it as https://host/path"), "%s has a query or a fragment", at)
	}
	return nil
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func (s *source) checkLayers(repository fs.FS, e *Environment) error {
	if len(e.Layers) == 0 {
		const at = "layers"
		_, there, err := s.Find(repository, at, "environments/"+e.Name+"/cluster.yaml")
		if err == nil && !there {
			err = s.Refuse(at, s.Edit("name its root modules, or delete layers: if the folder itself is the only one"), "layers is empty, and environments/%s has no cluster.yaml either", e.Name)
		}
		return err
	}
	seen := map[string]bool{}
	for i, layer := range e.Layers {
		at := fmt.Sprintf("layers[%d]", i)
		if !fs.ValidPath(layer.Path) {
			return s.Refuse(at, s.Edit("name a folder below environments/%s", e.Name), "layer %q is not a path below the environment", layer.Path)
		}
		for part := range strings.SplitSeq(layer.Path, "/") {
			if layer.Path != "." && !layerPattern.MatchString(part) {
				return s.Refuse(at, s.Edit("rename the folder: lower-case letters, digits, _ and -"), "layer %q cannot be part of a state's key", layer.Path)
			}
		}
		// Compare state keys: the folder "." has the name of the environment.
		if seen[e.StateKey(layer)] {
			return s.Refuse(at, s.Edit("keep one of them, or rename the folder"), "layer %q has the same state as another layer: %s", layer.Path, e.StateKey(layer))
		}
		seen[e.StateKey(layer)] = true
		dir := e.Dir(layer)
		mode, there, err := s.Find(repository, at, dir)
		if err != nil {
			return err
		}
		if !there || !mode.IsDir() {
			return s.Refuse(at, "mkdir -p "+printable.Word(dir), "layer %q has no folder %s", layer.Path, dir)
		}
		entries, err := fs.ReadDir(repository, dir)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(entries, isCode) {
			return s.Refuse(at, "$EDITOR "+printable.Word(dir+"/main.tf"), "layer %q has no .tf file in %s", layer.Path, dir)
		}
	}
	return nil
}

// isCode is false for hidden files, as in OpenTofu. A root module with only hidden files is empty,
// and its plan destroys everything in its state.
func isCode(entry fs.DirEntry) bool {
	name := strings.TrimSuffix(entry.Name(), ".json")
	return !entry.IsDir() && !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ".tf") || strings.HasSuffix(name, ".tofu"))
}

func (s *source) checkCredentials(repository fs.FS, e *Environment) (err error) {
	if e.CredentialFiles, e.MissingCredentials, err = s.credentials(repository, e, "credentials", e.Credentials); err != nil || e.Plan == nil {
		return err
	}
	if len(e.Plan.Credentials) == 0 {
		return s.Refuse("plan", s.Edit("write credentials: and their names, or delete the section"), "plan has no credentials")
	}
	if e.PlanCredentialFiles, e.MissingPlanCredentials, err = s.credentials(repository, e, "plan.credentials", e.Plan.Credentials); err != nil {
		return err
	}
	// The last credentials are those that may change the environment. They must not be given to
	// everyone who may plan.
	if n := len(e.Credentials); n > 0 && slices.Contains(e.Plan.Credentials, e.Credentials[n-1]) {
		return s.Refuse("plan.credentials", s.Edit("name credentials that can only read, such as %s-plan", e.Name), "plan.credentials has %q, which can change environment %s", e.Credentials[n-1], e.Name)
	}
	return nil
}

// credentials looks up the files in a list and returns those that exist and those that are missing.
func (s *source) credentials(repository fs.FS, e *Environment, list string, names []string) (there, missing []string, err error) {
	environments, err := List(repository)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", list, i)
		if !credentialPattern.MatchString(name) {
			return nil, nil, s.Refuse(at, s.Edit("write common for credentials/common.enc.env"), "%q cannot be the name of credentials", name)
		}
		if seen[name] {
			return nil, nil, s.Refuse(at, s.Edit("keep one of them"), "credentials %q are listed twice", name)
		}
		seen[name] = true
		// A folder copied from another environment would otherwise keep using its credentials.
		if name != e.Name && slices.Contains(environments, name) {
			return nil, nil, s.Refuse(at, s.Edit("give this environment credentials of its own, such as %s", e.Name), "credentials %q belong to the environment of that name", name)
		}
		var files []string
		for _, extension := range []string{".env", ".yaml", ".json"} {
			file := "credentials/" + name + ".enc" + extension
			mode, found, err := s.Find(repository, at, file)
			if err != nil {
				return nil, nil, err
			}
			if found && mode.IsRegular() {
				files = append(files, file)
			}
		}
		switch len(files) {
		case 0:
			// Code checks need no credentials: see NeedCredentials.
			missing = append(missing, "credentials/"+name+".enc.env")
		case 1:
			there = append(there, files[0])
		default:
			return nil, nil, s.Refuse(at, "git rm "+printable.Word(files[1]), "credentials %q have the files %s", name, settings.Enumerate(files))
		}
	}
	return there, missing, nil
}

func (s *source) checkReviewers(_ fs.FS, e *Environment) error {
	if len(e.Reviewers) == 0 {
		return nil
	}
	if !e.Protected {
		return s.Refuse("reviewers", s.Edit("write protected: true, or delete the reviewers"), "reviewers are asked in a protected environment only")
	}
	if e.State.S3 == nil {
		return s.Refuse("reviewers", s.Edit("delete the reviewers, or keep the state in a bucket"), "the reviewers' signatures are stored in the state's bucket, and there is no state.s3")
	}
	for i, line := range e.Reviewers {
		at := fmt.Sprintf("reviewers[%d]", i)
		reviewer, err := approval.ParseReviewer(line)
		if err != nil {
			return s.Refuse(at, s.Edit("write a line of authorized_keys: ssh-ed25519 AAAA… name"), "%s: %v", at, err)
		}
		if slices.ContainsFunc(e.Approvers, func(r approval.Reviewer) bool { return bytes.Equal(r.Key.Marshal(), reviewer.Key.Marshal()) }) {
			return s.Refuse(at, s.Edit("keep one of them"), "the key of %q is listed twice", reviewer.Name)
		}
		e.Approvers = append(e.Approvers, reviewer)
	}
	return nil
}

// providerPattern matches namespace/type, with or without a host.
var providerPattern = regexp.MustCompile(`^([a-z0-9.-]+\.[a-z0-9-]+(:[0-9]+)?/)?[0-9A-Za-z_-]+/[0-9A-Za-z_-]+$`)

func (s *source) checkAllow(_ fs.FS, e *Environment) error {
	if e.Allow == nil {
		return nil
	}
	if len(e.Allow.Programs)+len(e.Allow.Modules)+len(e.Allow.Providers) == 0 {
		return s.Refuse("allow", s.Edit("write programs:, modules: or providers: below it, or delete the line"), "allow names nothing")
	}
	seen := map[string]bool{}
	for i, name := range e.Allow.Programs {
		if at := fmt.Sprintf("allow.programs[%d]", i); !slices.Contains(Programs, name) {
			return s.Refuse(at, s.Edit("%sthe programs are %s", settings.DidYouMean(name, Programs), settings.Enumerate(Programs)), "%q is not a known way to run a program", name)
		}
	}
	for i, name := range e.Allow.Providers {
		if at := fmt.Sprintf("allow.providers[%d]", i); !providerPattern.MatchString(name) {
			return s.Refuse(at, s.Edit("write it as registry.opentofu.org/acme/thing"), "%q is not a provider address", name)
		}
	}
	for i, name := range e.Allow.Modules {
		if at := fmt.Sprintf("allow.modules[%d]", i); name == "" || strings.HasPrefix(name, ".") {
			return s.Refuse(at, s.Edit("copy the source from the code, such as git::https://…"), "%q is not the source of a remote module", name)
		}
	}
	for kind, names := range map[string][]string{"programs": e.Allow.Programs, "modules": e.Allow.Modules, "providers": e.Allow.Providers} {
		for i, name := range names {
			if seen[kind+name] {
				return s.Refuse(fmt.Sprintf("allow.%s[%d]", kind, i), s.Edit("keep one of them"), "%q is listed twice", name)
			}
			seen[kind+name] = true
		}
	}
	return nil
}

func (s *source) checkDrift(_ fs.FS, e *Environment) error {
	if e.Drift == nil {
		return nil
	}
	const after = "drift.after"
	if s.Has(after) && e.Drift.After < 1 {
		return s.Refuse(after, s.Edit("write 1, or more"), "drift.after is %d", e.Drift.After)
	}
	if e.Drift.After > 1 && e.State.S3 == nil {
		return s.Refuse(after, s.Edit("delete the line, or keep the state in a bucket"), "the counter for drift.after is stored in the state's bucket, and there is no state.s3")
	}
	seen := map[string]bool{}
	for i, ignore := range e.Drift.Ignore {
		at := fmt.Sprintf("drift.ignore[%d]", i)
		switch {
		case ignore.Address == "":
			return s.Refuse(at, s.Edit("write address: and the resource's address, as a plan shows it"), "%s has no address", at)
		case ignore.Until == "":
			return s.Refuse(at, s.Edit("write until: and a day, such as 2026-12-31"), "%s has no end date", at)
		case ignore.Reason == "":
			return s.Refuse(at, s.Edit("write reason: and why it is expected"), "%s has no reason", at)
		}
		if _, err := time.Parse(time.DateOnly, ignore.Until); err != nil {
			return s.Refuse(at+".until", s.Edit("write a day, such as 2026-12-31"), "%s.until is %q, which is not a date", at, ignore.Until)
		}
		key := ignore.Address + " " + strings.Join(ignore.Attributes, " ")
		if seen[key] {
			return s.Refuse(at, s.Edit("keep one of them"), "%q is listed twice", ignore.Address)
		}
		seen[key] = true
	}
	return nil
}
