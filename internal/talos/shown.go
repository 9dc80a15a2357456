package talos

import (
	"net/url"
	"slices"
	"strings"
)

// shown are the settings whose values cannot be secret, by kind of document: patterns of paths, in which *
// is one name and ** at the end is everything below. The value of every other setting is hidden.
var shown = map[string][]string{
	"v1alpha1": {
		"version", "debug", "persist",
		"machine.type", "machine.certSANs", "machine.controlPlane.**", "machine.disks.**", "machine.time.**", "machine.sysctls.*", "machine.sysfs.*",
		"machine.nodeLabels.*", "machine.nodeTaints.*", "machine.kernel.modules.*.*", "machine.udev.rules", "machine.features.**",
		"machine.install.disk", "machine.install.diskSelector.*", "machine.install.image", "machine.install.extensions.*.image", "machine.install.bootloader",
		"machine.install.wipe", "machine.install.legacyBIOSSupport", "machine.install.grubUseUKICmdline",
		"machine.kubelet.image", "machine.kubelet.clusterDNS", "machine.kubelet.extraMounts.**", "machine.kubelet.defaultRuntimeSeccompProfileEnabled",
		"machine.kubelet.registerWithFQDN", "machine.kubelet.nodeIP.**", "machine.kubelet.skipNodeRegistration", "machine.kubelet.disableManifestsDirectory",
		"machine.network", "machine.network.hostname", "machine.network.nameservers", "machine.network.searchDomains", "machine.network.disableSearchDomain",
		"machine.network.extraHostEntries.**", "machine.network.kubespan.**",
		"machine.network.interfaces.*.interface", "machine.network.interfaces.*.deviceSelector.*", "machine.network.interfaces.*.addresses",
		"machine.network.interfaces.*.cidr", "machine.network.interfaces.*.routes.**", "machine.network.interfaces.*.bond.**",
		"machine.network.interfaces.*.bridge.**", "machine.network.interfaces.*.bridgePort.**", "machine.network.interfaces.*.mtu",
		"machine.network.interfaces.*.dhcp", "machine.network.interfaces.*.ignore", "machine.network.interfaces.*.dummy",
		"machine.network.interfaces.*.dhcpOptions.*", "machine.network.interfaces.*.vip.ip",
		"machine.registries.mirrors.*.endpoints", "machine.registries.mirrors.*.overridePath", "machine.registries.mirrors.*.skipFallback",
		"machine.files.*.path", "machine.files.*.permissions", "machine.files.*.op",
		"cluster.controlPlane.**", "cluster.clusterName", "cluster.network.**", "cluster.proxy.disabled", "cluster.proxy.image", "cluster.proxy.mode",
		"cluster.apiServer.image", "cluster.apiServer.certSANs", "cluster.apiServer.disablePodSecurityPolicy", "cluster.apiServer.resources.**",
		"cluster.apiServer.admissionControl.**", "cluster.apiServer.auditPolicy.**",
		"cluster.controllerManager.image", "cluster.controllerManager.resources.**", "cluster.scheduler.image", "cluster.scheduler.resources.**",
		"cluster.discovery.**", "cluster.etcd.image", "cluster.etcd.subnet", "cluster.etcd.advertisedSubnets", "cluster.etcd.listenSubnets",
		"cluster.coreDNS.**", "cluster.externalCloudProvider.enabled", "cluster.inlineManifests.*.name", "cluster.adminKubeconfig.certLifetime",
		"cluster.allowSchedulingOnMasters", "cluster.allowSchedulingOnControlPlanes",
	},
	"BondConfig":                  {"**"},
	"BridgeConfig":                {"**"},
	"DHCPv4Config":                {"**"},
	"DHCPv6Config":                {"**"},
	"DiscoveryServiceConfig":      {"**"},
	"DummyLinkConfig":             {"**"},
	"EtcFileConfig":               {"name", "mode"},
	"EthernetConfig":              {"**"},
	"ExistingVolumeConfig":        {"**"},
	"ExtensionServiceConfig":      {"name", "configFiles.*.mountPath"},
	"FilesystemScrubConfig":       {"**"},
	"FilesystemTrimConfig":        {"**"},
	"HostnameConfig":              {"**"},
	"KernelModuleConfig":          {"**"},
	"KubeAPIServerConfig":         {"image", "certExtraSANs", "resources.**"},
	"KubeAdmissionControlConfig":  {"**"},
	"KubeAuditPolicyConfig":       {"**"},
	"KubeAuthenticationConfig":    {"configuration.anonymous.**"},
	"KubeAuthorizerConfig":        {"name", "type"},
	"KubeClusterConfig":           {"**"},
	"KubeControllerManagerConfig": {"image", "resources.**"},
	"KubeCoreDNSConfig":           {"**"},
	"KubeFlannelCNIConfig":        {"backendType", "backendPort", "kubeNetworkPoliciesEnabled"},
	"KubeNetworkConfig":           {"**"},
	"KubeNodeConfig":              {"nodeIP.**", "labels.*", "taints.*"},
	"KubePrismConfig":             {"**"},
	"KubeProxyConfig":             {"image", "mode", "enabled"},
	"KubeSchedulerConfig":         {"image", "resources.**"},
	"KubeServiceAccountConfig":    {"issuer.issuerURL"},
	"KubeletConfig":               {"image", "clusterDNS", "extraMounts.**", "defaultRuntimeSeccompProfileEnabled", "registerWithFQDN", "skipNodeRegistration"},
	"LVMLogicalVolumeConfig":      {"**"},
	"LVMVolumeGroupConfig":        {"**"},
	"Layer2VIPConfig":             {"**"},
	"LinkAliasConfig":             {"**"},
	"LinkConfig":                  {"**"},
	"NetworkDefaultActionConfig":  {"**"},
	"NetworkRuleConfig":           {"**"},
	"OOMConfig":                   {"**"},
	"RAIDArrayConfig":             {"**"},
	"RegistryMirrorConfig":        {"**"},
	"RegistryAuthConfig":          {"name"},
	"RegistryTLSConfig":           {"name"},
	"ResolverConfig":              {"**"},
	"RoutingRuleConfig":           {"**"},
	"SecurityProfileConfig":       {"**"},
	"StaticHostConfig":            {"**"},
	"SysctlConfig":                {"**"},
	"SysfsConfig":                 {"**"},
	"TimeSyncConfig":              {"**"},
	"UdevRulesConfig":             {"**"},
	"UnattendedInstallConfig":     {"installer.image", "provisioning.**"},
	"UserVolumeConfig":            {"name", "provisioning.**", "filesystem.**", "mount.**", "volumeType"},
	"VLANConfig":                  {"**"},
	"VRFConfig":                   {"**"},
	"VolumeConfig":                {"name", "provisioning.**", "mount.**"},
	"WatchdogTimerConfig":         {"**"},
	"ZswapConfig":                 {"**"},
}

// harmless reports whether the value of a setting can be shown. A URL with a user or a query cannot,
// wherever it is.
func harmless(kind string, path []string, value string) bool {
	if value == "{}" || value == "[]" || value == `""` {
		return true
	}
	allowed := func(pattern string) bool { return matches(strings.Split(pattern, "."), path) }
	return slices.ContainsFunc(shown[kind], allowed) && safeURLs(value)
}

func safeURLs(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n,;\"'[]", r) }) {
		if u, err := url.Parse(word); strings.Contains(word, "://") && (err != nil || u.User != nil || u.RawQuery != "") {
			return false
		}
	}
	return true
}

func matches(pattern, path []string) bool {
	for i, name := range pattern {
		if name == "**" {
			return true
		}
		if i >= len(path) || name != "*" && name != path[i] {
			return false
		}
	}
	return len(pattern) == len(path)
}
