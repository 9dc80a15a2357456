package report

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"slipway/internal/plan"
)

// A plan with a value, each a different one, in every place that can hold one. SECRET is
// one and the same: it is marked in x.marked, and stands elsewhere in what is on the list.
const withValues = `{
"format_version":"1.2","terraform_version":"1.12.6",
"variables":{"v":{"value":"VALUE"},"w":{"value":{"VALUE":["VALUE"]}}},
"planned_values":{"outputs":{"o":{"sensitive":false,"type":"string","value":"VALUE"}},"root_module":{
	"resources":[{"address":"x.a","mode":"managed","values":{"a":"VALUE","VALUE":1},"sensitive_values":{}}],
	"child_modules":[{"address":"module.m","resources":[{"address":"module.m.x.a","index":"VALUE","values":{"a":"VALUE"}}]}]}},
"resource_drift":[
	{"address":"x.a","mode":"managed","type":"x","name":"a","index":"VALUE","change":{"actions":["update"],
		"before":{"a":"VALUE","t":{"VALUE":"VALUE"}},"after":{"a":"VALUE","t":{"VALUE":"VALUE"}},"after_unknown":{},
		"before_sensitive":{"a":true},"after_sensitive":{},"before_identity":{"VALUE":"VALUE"},"after_identity":{"a":"VALUE"}}},
	{"address":"hcloud_server.a","mode":"managed","type":"hcloud_server","change":{"actions":["update"],
		"before":{"name":"SECRET","user_data":"VALUE","backups":false},"after":{"name":"x","user_data":"VALUE","backups":true}}},
	{"address":"x.gone","mode":"managed","change":{"actions":["delete"],"before":{"a":"VALUE"},"after":null}}],
"resource_changes":[
	{"address":"x.a","mode":"managed","change":{"actions":["delete","create"],"before":{"a":"VALUE","t":{"VALUE":"VALUE"},"n":NUMBER},
		"after":{"a":"VALUE","t":{"VALUE":["VALUE"]},"n":NUMBER},"after_unknown":{"id":true,"t":{"u":true}},
		"before_sensitive":{"a":true},"after_sensitive":{"a":true},"replace_paths":[["t","VALUE",0],["VALUE"]],
		"before_identity":{"a":"VALUE"},"after_identity":{"VALUE":"VALUE"}},"action_reason":"replace_because_cannot_update"},
	{"address":"x.update","mode":"managed","provider_name":"VALUE","change":{"actions":["update"],"before":{"a":"VALUE"},"after":{"a":"VALUE"}},"action_reason":"VALUE"},
	{"address":"x.import","mode":"managed","change":{"actions":["no-op"],"before":{"a":"VALUE"},"after":{"a":"VALUE"},
		"importing":{"id":"VALUE","identity":{"VALUE":"VALUE"}},"generated_config":"VALUE"}},
	{"address":"x.later","mode":"managed","change":{"actions":["VALUE"],"before":"VALUE","after":["VALUE"]}},
	{"address":"hcloud_server.a","mode":"managed","type":"hcloud_server","change":{"actions":["update"],
		"before":{"name":"VALUE","labels":{"SECRET":"x"},"user_data":"VALUE","image":"SECRET","location":"fsn1","server_type":"cx23","datacenter":"SECRET"},
		"after":{"name":"VALUE","labels":{"SECRET":"y"},"user_data":"VALUE","image":"z","location":"SECRET","server_type":"ccx63","datacenter":"prefix SECRET"},
		"before_sensitive":{"name":true},"after_sensitive":{}}},
	{"address":"hcloud_server.b","mode":"managed","type":"hcloud_server","change":{"actions":["create"],"before":null,
		"after":{"name":"SECRET","user_data":"VALUE","server_type":"cx33"},"after_sensitive":{}}},
	{"address":"x.marked","mode":"managed","change":{"actions":["update"],"before":{"p":"x"},"after":{"p":"SECRET"},"after_sensitive":{"p":true}}},
	{"address":"x.deposed","mode":"managed","deposed":"VALUE","change":{"actions":["delete"],"before":{"a":"VALUE"}}},
	{"address":"data.x.a","mode":"data","change":{"actions":["read"],"before":null,"after":{"a":"VALUE"}}}],
"deferred_changes":[{"reason":"VALUE","resource_change":{"address":"VALUE","change":{"actions":["create"],"after":{"a":"VALUE"}}}}],
"output_changes":{"o":{"actions":["update"],"before":"VALUE","after":{"VALUE":"VALUE"},"before_sensitive":true,"after_sensitive":true}},
"prior_state":{"format_version":"1.0","values":{"outputs":{"o":{"sensitive":true,"value":"VALUE"}},"root_module":{
	"resources":[{"address":"x.a","values":{"a":"VALUE"},"sensitive_values":{"a":true}}],
	"child_modules":[{"resources":[{"address":"module.m.x.a","values":{"a":"VALUE"}}]}]}}},
"configuration":{"provider_config":{"x":{"name":"x","expressions":{"token":{"constant_value":"VALUE"}}}},"root_module":{
	"outputs":{"o":{"expression":{"constant_value":"VALUE"},"description":"VALUE"}},
	"resources":[{"address":"x.a","expressions":{"a":{"constant_value":"VALUE"}},"provisioners":[{"expressions":{"command":{"constant_value":"VALUE"}}}]}],
	"module_calls":{"m":{"source":"VALUE","expressions":{"a":{"constant_value":"VALUE"}},"module":{"variables":{"v":{"default":"VALUE","sensitive":true}}}}},
	"variables":{"v":{"default":"VALUE","sensitive":true,"description":"VALUE"},"w":{"default":"VALUE"}}}},
"relevant_attributes":[{"resource":"VALUE","attribute":["VALUE"]}],
"checks":[{"address":{"kind":"resource","to_display":"VALUE"},"status":"fail","instances":[{"problems":[{"message":"VALUE"}]}]}],
"action_invocations":[{"address":"VALUE","config_values":{"a":"VALUE"}}],
"timestamp":"VALUE","errored":false,"complete":false}`

var placeholder = regexp.MustCompile(`VALUE|NUMBER`)

func TestNoValueIsShown(t *testing.T) {
	var canaries []string
	const secret = "canary-that-is-marked"
	text := placeholder.ReplaceAllStringFunc(strings.ReplaceAll(withValues, "SECRET", secret), func(which string) string {
		n := len(canaries)
		if which == "NUMBER" {
			canaries = append(canaries, fmt.Sprintf("731908426%03d", n))
			return canaries[n]
		}
		canaries = append(canaries, fmt.Sprintf("canary-%03d <\"`>", n))
		quoted, err := json.Marshal(canaries[n])
		if err != nil {
			t.Fatal(err)
		}
		return string(quoted[1 : len(quoted)-1])
	})
	if len(canaries) < 70 {
		t.Fatalf("there are only %d values whose absence would prove anything", len(canaries))
	}
	s, values, err := plan.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Changes) != 8 || len(s.Drift) != 3 || len(s.Outputs) != 1 || !s.Partial {
		t.Fatalf("the summary is not of this plan: %+v", s)
	}
	if len(values) < 8 {
		t.Errorf("only %d values are found to be sensitive", len(values))
	}
	r := Report{Environments: []Environment{{Name: "prod", Layers: []Layer{{Name: "one", Summary: s}, {Name: "two", Summary: s}}}}}
	asJSON, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for where, shown := range map[string]string{
		"the summary": string(asJSON), "Markdown": Markdown(r, 65_536), "the console": Console(r, 65_536),
	} {
		if where != "the summary" && (!strings.Contains(shown, "server_type: cx23 → ccx63") || !strings.Contains(shown, "server_type: cx33") || !strings.Contains(shown, "backups: false → true")) {
			t.Errorf("%s does not show what is on the list: %s", where, shown)
		}
		for _, c := range append(canaries, secret) {
			for _, form := range []string{c, strings.Trim(c, " <\"`>"), base64.StdEncoding.EncodeToString([]byte(c))} {
				if strings.Contains(shown, form) {
					t.Errorf("%s holds %q, which is %q", where, form, c)
				}
			}
		}
		// Whatever they are part of, and however that is escaped, this is left of them:
		// as it is, and in base64 at each of the three offsets.
		for _, form := range []string{"canary", "Y2FuYXJ5", "NhbmFyeS", "jYW5hcnkt"} {
			if strings.Contains(shown, form) {
				t.Errorf("%s holds %q: %s", where, form, shown)
			}
		}
	}
}
