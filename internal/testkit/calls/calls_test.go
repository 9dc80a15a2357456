package calls

import "testing"

func TestCheck(t *testing.T) {
	for hint, ok := range map[string]bool{
		"":                                       true,
		"$EDITOR .sops.yaml":                     true,
		"dagger call apply --env=a":              true,
		"dagger call applies --env=a":            false,
		"dagger call apply --enw=a":              false,
		"dagger call --env=a":                    false,
		"dagger call unlock --env=a --lock-id=1": true,
		"dagger call --age-key=env://AGE_KEY --log=plays deploy --env=a":                                 true,
		"dagger call -y lock-providers, on a machine without PINS":                                       true,
		"dagger call apply -y --env=a":                                                                   false,
		"dagger call recover --env=a --seen='a.b[\"c,d\"]'   # when you have looked":                     true,
		"dagger call secrets set --file=a --variable=b --value=env://V":                                  true,
		"dagger call secrets put --file=a":                                                               false,
		"dagger call plan-files --env=a export --path=.slipway/plan":                                     true,
		"review it: dagger call plan --env=a --keep; then: dagger call apply --env=a --digest=sha256:…":  true,
		"review it: dagger call plan --env=a --keep; then: dagger call apply --env=a --digests=sha256:…": false,
		"sleep 46 && dagger call deploy --env=a   # if it was killed; otherwise wait until it ends":      true,
		"(umask 077; dagger call cluster kubeconfig --env=a --for=8h plaintext >~/.kube/a)":              true,
		"dagger call cluster kubeconfig --options=8h":                                                    false,
	} {
		if err := Check(hint); (err == nil) != ok {
			t.Errorf("%s: %v", hint, err)
		}
	}
}
