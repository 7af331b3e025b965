// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Metrics

/// The catalogue of what is read at a scrape; docs/metrics.md explains each family.
enum Family {
    static let build = MetricFamily(
        "nwpath_build_info",
        .info,
        help: "The running build.",
        labels: ["version", "revision", "swift_version"]
    )

    static let headline = gauge("headline", "1 for the present state of the way out as a whole.", ["state"])
    static let satisfied = gauge("path_satisfied", "Whether packets leave the machine.", ["monitor"])
    static let status = gauge("path_status", "1 for the present status.", ["monitor", "status"])
    static let statusSeconds = counter("path_status_seconds", "Time spent in each status.", ["monitor", "status"])
    static let transitions = counter("path_status_transitions", "Changes of the status.", ["monitor", "from", "to"])
    static let lastChange = gauge("path_last_change_timestamp_seconds", "When the path last changed.", ["monitor"])
    static let reason = gauge("path_unsatisfied_reason", "1 for the reason why it is not.", ["monitor", "reason"])
    static let expensive = gauge("path_expensive", "Whether the traffic costs money.", ["monitor"])
    static let constrained = gauge("path_constrained", "Whether programs should spare traffic.", ["monitor"])
    static let ipv4 = gauge("path_supports_ipv4", "Whether IPv4 packets leave.", ["monitor"])
    static let ipv6 = gauge("path_supports_ipv6", "Whether IPv6 packets leave.", ["monitor"])
    static let dns = gauge("path_supports_dns", "Whether a name server can be reached.", ["monitor"])
    static let pathInterface = MetricFamily(
        "nwpath_path_interface_info",
        .info,
        help: "Interfaces of the path in order of preference.",
        labels: ["monitor", "device", "interface_type", "rank"]
    )

    static let interfaceInfo = MetricFamily(
        "nwpath_interface_info",
        .info,
        help: "What an interface is.",
        labels: ["device", "interface_type", "kind", "operstate"]
    )
    static let interfaceUp = gauge("interface_up", "Whether the link is up with carrier.", ["device"])
    static let interfaceRequired = gauge("interface_required", "1 for interfaces that must be up.", ["device"])
    static let carrierChanges = counter("interface_carrier_changes", "Changes of the carrier.", ["device"])
    static let addresses = gauge("interface_addresses", "How many addresses it has.", ["device", "family", "scope"])
    static let mtu = gauge("interface_mtu_bytes", "The largest packet.", ["device"])
    static let gatewayReachable = gauge(
        "gateway_reachable",
        "0 when the gateway did not answer ARP or Neighbor Solicitation when it was last asked.",
        ["device", "family", "gateway"]
    )

    static let netlinkMessages = counter("netlink_messages", "Kernel messages that passed the filter.", ["group"])
    static let overruns = counter("netlink_overruns", "Overruns of the buffer, each followed by a full reading.")
    static let undecodable = counter("netlink_undecodable", "Kernel messages that could not be read.")
    static let foreign = counter("netlink_foreign", "Messages of other processes, which were ignored.")
    static let silentChanges = counter("netlink_silent_changes", "Changes that an audit found without an event.")
    static let evaluations = counter("evaluations", "How often the paths were worked out.")

    static let eventsPublished = counter("events_published", "Events by name.", ["event"])
    static let logErrors = counter("event_log_write_errors", "Failed writes, rotations and reopenings of the log.")
    static let logLost = counter("event_log_lost_events", "Events that could not be written to the log.")
    static let reloadGood = gauge("config_last_reload_successful", "Whether the last configuration was good.")
    static let reloadTime = gauge(
        "config_last_reload_success_timestamp_seconds",
        "When a configuration was last reloaded; 0 never."
    )

    static let services = gauge("mdns_services", "Resolved services.", ["service_type"])
    static let serviceTypes = gauge("mdns_service_types", "Service types that have a service.")
    static let watched = gauge(
        "mdns_watched_service_up",
        "Whether a watched service is there.",
        ["service_type", "service_name"]
    )
    static let censusTime = gauge(
        "mdns_census_last_success_timestamp_seconds",
        "When a census was last completed; 0 never."
    )
    static let censusInterval = gauge("mdns_census_interval_seconds", "How often a census is taken.")
    static let packetsReceived = counter("mdns_packets_received", "mDNS packets received.", ["device", "family"])
    static let packetsSent = counter("mdns_packets_sent", "mDNS packets sent.", ["device", "family"])
    static let portAvailable = gauge(
        "mdns_port_available",
        "0 while another program has UDP port 5353 for itself.",
        ["family"]
    )
    static let packetsMalformed = counter("mdns_packets_malformed", "mDNS packets refused.", ["device", "family"])
    static let packetFaults = counter(
        "mdns_noncompliant_responses",
        "mDNS responses that break a rule.",
        ["device", "family", "fault"]
    )

    private static func gauge(_ name: String, _ help: String, _ labels: [String] = []) -> MetricFamily {
        MetricFamily("nwpath_\(name)", .gauge, help: help, labels: labels)
    }

    private static func counter(_ name: String, _ help: String, _ labels: [String] = []) -> MetricFamily {
        MetricFamily("nwpath_\(name)_total", .counter, help: help, labels: labels)
    }
}
