// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// What each code means, how it is found out, and what to do, whatever the network; a verdict says more about its own.
extension VerdictCode {
    /// What is wrong, one sentence without a full stop.
    package var meaning: String {
        switch self {
        case .linkNone: "this machine has no network interface besides loopback"
        case .linkAdminDown: "the network interface is switched off on this machine"
        case .linkNoCarrier: "nothing is connected at the other end of the cable, or Wi-Fi has no access point"
        case .linkFlapping: "the link is lost and comes back again and again"
        case .linkIsolated: "the link is up, but not a single packet arrives on it"
        case .linkMTUTooSmall: "packets may be at most 1279 bytes long on this interface, which is too short for IPv6"
        case .linkLoss: "packets are lost already between this machine and its router"
        case .linkErrors: "frames arrive damaged at this network card"
        case .linkOverruns: "frames arrive faster than this machine reads them from its network card, and are lost"
        case .linkDuplex: "the two ends of the cable disagree about sending and receiving at the same time"
        case .linkSpeed: "the cable runs slower than both of its ends can"
        case .linkQueueDrops: "more is sent than the link carries, so that its queue drops packets"
        case .linkWeakSignal: "Wi-Fi packets are repeated or lost because the signal of the access point is weak"
        case .linkClientIsolation: "the router answers, but other hosts on the same network do not"
        case .mdnsBlocked: "devices cannot be found by mDNS, because multicast packets do not get through the network"
        case .addressNone: "this machine has no IP address"
        case .addressLinkLocalOnly: "this machine has only an address that it gave itself, which reaches no router"
        case .addressDuplicate: "another machine uses the same IP address, so replies may go to it instead"
        case .addressDADFailed: "the kernel does not use an address, because another machine already has it"
        case .dhcpRogue: "more than one server hands out addresses on this network, and one may be wrong"
        case .routerRogue: "routers announce different IPv6 networks on the same link, and one may be wrong"
        case .hostResources: "this machine has no port, file descriptor, thread or memory left to run the tests"
        case .firewallLocal: "a packet filter on this machine drops what it sends, or the replies"
        case .routeNoDefault: "this machine does not know which router leads to the Internet"
        case .routeBlackhole: "a route on this machine discards packets on purpose"
        case .routeDeadTunnel: "packets go into a VPN or another tunnel that carries nothing, while the line works"
        case .routeAsymmetric: "packets from one address of this machine get no reply, from another one they do"
        case .routeWrongGateway: "the default route points to a machine that is no router for the Internet"
        case .gatewayUnresolved: "the router is not there: it does not even answer on the local network"
        case .gatewayARPConflict: "two machines claim to be the router"
        case .gatewayNotForwarding: "the router is on, but passes no packets on"
        case .captivePortal: "the network wants a login on a web page before it lets packets through"
        case .captiveAPI: "the network says where its login page is; this is no fault"
        case .httpIntercepted: "a device on the path answers unencrypted web requests in place of the server"
        case .wanDown: "the router answers, but nothing beyond it does: there is no Internet"
        case .upstreamBlackhole: "packets vanish in the network of the provider, beyond the router"
        case .upstreamLoop: "routers beyond this network send packets round in a circle"
        case .ipv4Broken: "nothing beyond the router is reached by IPv4, while IPv6 works"
        case .ipv6Broken: "nothing beyond the router is reached by IPv6, while IPv4 works"
        case .trafficStalled: "the connections that programs of this machine have open are no longer answered"
        case .dnsNoConfig: "this machine has no name server, so names such as example.com cannot be found"
        case .dnsUnreachable: "no name server answers, so names such as example.com cannot be found"
        case .dnsServerDead: "one of several name servers does not answer, so that programs wait for it"
        case .dnsServfail: "the name servers answer, but only that they failed"
        case .dnsSlow: "the name servers take long to answer, so that everything begins late"
        case .dnsAAAATimeout: "the name servers do not answer queries for IPv6 addresses, so that programs wait"
        case .dnsNXRewrite: "a name server invents an address for names that do not exist"
        case .dnsWrongAnswer: "a name server gives a wrong address for a name whose address is known"
        case .dnsTCPBlocked: "long answers of name servers are lost, because TCP to them does not work"
        case .transportPortBlocked: "connections to one TCP port get no reply anywhere, while other ports work"
        case .transportPortReset: "connections to one TCP port are refused everywhere, while other ports work"
        case .transportUDPBlocked: "UDP does not get through, while TCP does"
        case .pmtuBlackhole: "large packets vanish without an error, so that connections open and then hang"
        case .pmtuReduced: "packets on the path must be smaller than on the own link, which works; this is no fault"
        case .tlsIntercepted: "encrypted connections end in another certificate than the server's, at all tested hosts"
        case .clockSkew: "the clock of this machine is wrong"
        case .uplinkDown: "of several interfaces that share the packets, one leads nowhere"
        case .proxyUnreachable: "the proxy that the environment names (`http_proxy`, `https_proxy`) does not answer"
        case .proxyFailing: "the proxy that the environment names is there, and gets no answer of the Internet"
        case .proxyRequired: "the web is reached through the environment's proxy only; this is no fault"
        case .targetDown: "one of the hosts that are tested does not answer, while others do"
        case .trafficDestinationStalled: "connections of programs to one destination are not answered"
        case .trafficLoss: "connections of programs must send much again, because packets are lost"
        case .performanceLoss: "packets are lost beyond the router"
        case .performanceHighLatency: "replies from the Internet take longer than they should"
        case .performanceJitter: "replies from the Internet take sometimes short and sometimes long"
        case .performanceBufferbloat: "replies take much longer as soon as the line is busy"
        case .performanceLowThroughput: "the line carries less than the configuration expects"
        case .icmpFiltered: "ping gets no reply although the hosts are reachable; this is no fault"
        case .destinationNoSuchName: "the name of the destination does not exist"
        case .destinationNoAddress: "the name of the destination exists, but has no address"
        case .destinationUnresolved: "it could not be found out which address the name of the destination has"
        case .destinationNoRoute: "this machine has no route to the destination"
        case .destinationDiscarded: "a route on this machine discards packets to the destination on purpose"
        case .destinationBlocked: "a packet filter on this machine drops packets to the destination"
        case .destinationUnreachable: "a router reports that it cannot reach the destination"
        case .destinationSilent: "the destination does not answer at all"
        case .destinationPartlySilent: "the destination works at one of its addresses and not at another one"
        case .destinationPortClosed: "the destination is up, but no program accepts connections at that port"
        case .destinationPortSilent: "the destination is up, but connections to that port get no reply"
        case .destinationTLS: "no encrypted connection to the destination can be made"
        case .destinationCertificate: "the destination cannot prove by a trusted certificate that it is the right one"
        case .destinationCertificateDates: "the certificate of the destination has expired or is not valid yet"
        case .destinationNoAnswer: "the destination accepts connections, but sends no answer to a web request"
        case .destinationStatus: "the destination answers the web request with an error"
        case .destinationNoUpgrade: "the destination answers, but opens no WebSocket"
        case .routeReversePath:
            "replies arrive, but the kernel drops them because they come by another interface than it expects"
        case .gatewayBlocksHost: "the router reaches the Internet itself, but passes nothing on for this machine"
        case .gatewayStaticEntry:
            "packets for the router go to the hardware address of a permanent entry, which is not the router's"
        case .upstreamFlowsLost:
            "some new connections get no reply, the others lose nothing: one of several parallel links is dead"
        case .dnsNotUsed:
            "programs query no name server, because the order of lookups on this machine leaves them out"
        case .dnsHostsFile: "a line of /etc/hosts gives a name another address than the name servers do"
        case .dnsSearchDead:
            "no name server answers for a domain that short names are completed with, so that programs wait"
        case .transportTCPBlocked: "no TCP connection gets beyond the router, while other packets do"
        case .transportTLSBlocked:
            "encrypted connections are cut off at their first message, to all hosts, while unencrypted ones work"
        case .transportQUICBlocked:
            "QUIC (HTTP/3) does not get through, so that browsers lose time before they use TCP"
        case .destinationStalled: "the server begins to answer and stops in the middle"
        }
    }

    /// What is tested, and which result means this fault.
    package var test: String {
        switch self {
        case .linkNone: "the interfaces that the kernel has"
        case .linkAdminDown: "the flags of the interface in the kernel"
        case .linkNoCarrier: "what the driver reports to the kernel about the carrier"
        case .linkFlapping: "changes of the carrier are counted: two in an examination, or four in a minute"
        case .linkIsolated: "packets received are counted while the router and hosts on the link are queried"
        case .linkMTUTooSmall: "the MTU of the interface: below 1280 the kernel removes its IPv6 addresses"
        case .linkLoss: "65 echo requests to the router, and 80 packets to each of two hosts beyond it: both are lost"
        case .linkErrors: "counters of CRC and alignment errors of the network card, once a minute"
        case .linkOverruns: "counters of frames for which the network card had no room, once a minute"
        case .linkDuplex: "counters of late collisions and damaged frames, and the duplex of the link, once a minute"
        case .linkSpeed: "the speed of the link is compared with what both ends offer, in two readings"
        case .linkQueueDrops: "counters of the queueing discipline of the link, once a minute"
        case .linkWeakSignal: "signal, retries and lost packets or beacons of the Wi-Fi station, once a minute"
        case .linkClientIsolation: "ARP requests or neighbour solicitations to hosts on the link, and to the router"
        case .mdnsBlocked: "the same query by unicast and by multicast: only the first is answered"
        case .addressNone, .addressLinkLocalOnly: "the addresses that the kernel has, and a DHCPDISCOVER"
        case .addressDuplicate: "ARP probes for the own addresses: another machine answers"
        case .addressDADFailed: "duplicate address detection of the kernel"
        case .dhcpRogue: "a DHCPDISCOVER, which leases nothing: more than one server answers"
        case .routerRogue: "router solicitations: routers with different prefixes answer"
        case .hostResources: "a test could not be started; the error of the kernel says what is lacking"
        case .firewallLocal:
            "what packet filters do with each kind of test, and a packet socket that sees what leaves and arrives"
        case .routeNoDefault, .routeBlackhole: "the kernel is queried for the route to hosts in other networks"
        case .routeDeadTunnel: "the same hosts through the tunnel, which are silent, and around it, which answer"
        case .routeAsymmetric: "echo requests or datagrams from each address of this machine"
        case .routeWrongGateway: "nothing beyond the router answers, and DHCP offers another router, which is there"
        case .gatewayUnresolved: "ARP requests or neighbour solicitations to the router: no answer"
        case .gatewayARPConflict: "ARP requests or neighbour solicitations to the router: two different answers"
        case .gatewayNotForwarding:
            "the router answers ARP but no echo requests, reports no hop limit, and nothing beyond it answers"
        case .captivePortal: "an HTTP request to a known page, and the portal that DHCP or the router announces"
        case .captiveAPI: "the announcement by DHCP or by the router (RFC 8910)"
        case .httpIntercepted: "HTTP requests to known pages get a wrong answer, HTTPS requests the right one"
        case .wanDown: "hosts in several networks do not answer, and no router beyond the first one does"
        case .upstreamBlackhole: "datagrams with growing hop limits: a router beyond the first is the last that answers"
        case .upstreamLoop: "a router reports that the hop limit of an ordinary packet has run out"
        case .ipv4Broken, .ipv6Broken: "the same hosts by both families: only those of the other one answer"
        case .trafficStalled: "the kernel reports which TCP connections of this machine wait; nothing is sent"
        case .dnsNoConfig: "the name servers in the configuration of the resolver"
        case .dnsUnreachable, .dnsServerDead: "queries to each name server, up to three times, and echo requests"
        case .dnsServfail: "the response code of the queries"
        case .dnsSlow: "the time of the fastest answer, without the round trip to the server: more than 300 ms"
        case .dnsAAAATimeout: "A queries are answered, AAAA queries are not"
        case .dnsNXRewrite: "a query for a name that does not exist (diagnosis.dns.nx_zone)"
        case .dnsWrongAnswer: "a query for a name whose address the configuration has (diagnosis.dns.wildcard)"
        case .dnsTCPBlocked: "the same query by UDP and by TCP, and one for a long text (diagnosis.dns.big_txt)"
        case .transportPortBlocked, .transportPortReset: "TCP connections to two ports of several hosts"
        case .transportUDPBlocked: "datagrams to the echo port of the anchors (diagnosis.udp_echo_port), and TCP"
        case .pmtuBlackhole, .pmtuReduced: "unfragmented packets of full size and then smaller ones, and a long request"
        case .tlsIntercepted: "HTTPS requests to several hosts: no certificate verifies"
        case .clockSkew: "queries to time servers (diagnosis.ntp): more than a second of difference"
        case .uplinkDown: "echo requests and a TCP connection to two hosts, by each interface of a route with several"
        case .proxyUnreachable, .proxyFailing, .proxyRequired:
            "a page of an anchor by HTTP and one by HTTPS, through the proxy that libcurl finds in the environment"
        case .targetDown: "echo requests and TCP connections to all anchors: one of them is silent"
        case .trafficDestinationStalled:
            "the kernel reports which TCP connections to a destination wait for an answer; nothing is sent"
        case .trafficLoss: "the kernel reports how much TCP connections send again: 3 % or more; nothing is sent"
        case .performanceLoss: "80 packets to each of two hosts; the router loses almost none"
        case .performanceHighLatency: "the median round trip to the nearest of up to four hosts (budgets.rtt_ms)"
        case .performanceJitter: "how far round trips to the steadiest of up to four hosts differ (budgets.jitter_ms)"
        case .performanceBufferbloat, .performanceLowThroughput: "a load test of `nwpath diagnose` (diagnosis.nq)"
        case .icmpFiltered: "echo requests to hosts that accept TCP connections"
        case .destinationNoSuchName, .destinationNoAddress, .destinationUnresolved:
            "the C library looks the name up, as programs do"
        case .destinationNoRoute, .destinationDiscarded: "the kernel is queried for the route to each address"
        case .destinationBlocked: "every packet to it is refused by the kernel of this machine (EPERM)"
        case .destinationUnreachable: "an ICMP error of a router"
        case .destinationSilent: "echo requests and TCP connections to each address: nothing comes back"
        case .destinationPartlySilent: "echo requests and TCP connections to up to six addresses"
        case .destinationPortClosed, .destinationPortSilent: "a TCP connection to the port, and echo requests"
        case .destinationTLS, .destinationCertificate, .destinationCertificateDates: "a TLS handshake with it"
        case .destinationNoAnswer, .destinationStatus: "one HTTP request"
        case .destinationNoUpgrade: "the opening handshake of a WebSocket"
        case .routeReversePath: "the counter of the reverse path filter, and a packet socket that sees the replies"
        case .gatewayBlocksHost: "hosts in other networks, and names that the router looks up for the first time"
        case .gatewayStaticEntry: "the kernel's neighbour entry, and ARP requests or neighbour solicitations"
        case .upstreamFlowsLost: "further connections, each from a port of its own"
        case .dnsNotUsed:
            "the lookup of a name by the C library, the same name at the name servers, and /etc/nsswitch.conf"
        case .dnsHostsFile:
            "the lookup of a name by the C library, the same name at the name servers, and /etc/hosts"
        case .dnsSearchDead: "a random name in each domain of the line `search`"
        case .transportTCPBlocked:
            "connections to several ports of several hosts, each again from other ports, and echo or UDP"
        case .transportTLSBlocked: "HTTPS and HTTP requests to several hosts"
        case .transportQUICBlocked: "a query for the versions of QUIC to hosts that offer it"
        case .destinationStalled: "the first 100 kB of the answer"
        }
    }

    /// The next step, one clause without a full stop.
    package var action: String {
        switch self {
        case .linkNone: "check the driver and `ip link`"
        case .linkAdminDown: "`ip link set INTERFACE up`"
        case .linkNoCarrier: "check the cable, the switch port or the access point"
        case .linkFlapping: "replace the cable, then try another switch port"
        case .linkIsolated: "check the VLAN of the switch port"
        case .linkMTUTooSmall: "`ip link set INTERFACE mtu 1500`, then add static IPv6 addresses again"
        case .linkLoss: "check the cable or the radio, and the counters in `ip -s link`"
        case .linkErrors: "replace the cable, then try another port of the switch"
        case .linkOverruns: "enlarge the receive ring (`ethtool -G`), and spread interrupts over more processors"
        case .linkDuplex: "let both ends negotiate (`ethtool -s INTERFACE autoneg on`), then replace the cable"
        case .linkSpeed: "replace the cable (all four pairs must be connected), then try another port of the switch"
        case .linkQueueDrops: "send less, or share the link fairly (`tc qdisc replace dev INTERFACE root fq_codel`)"
        case .linkWeakSignal: "move closer to the access point, or add one"
        case .linkClientIsolation: "switch off client isolation at the access point, or check that the hosts are on"
        case .mdnsBlocked: "allow multicast at the access point or switch (IGMP snooping needs a querier)"
        case .addressNone: "check the DHCP server and the DHCP client, or configure a static address"
        case .addressLinkLocalOnly: "check the DHCP server: it did not answer when this machine wanted an address"
        case .addressDuplicate: "change one of the two addresses, and look for a static one in the DHCP range"
        case .addressDADFailed: "change the address on one of the two machines"
        case .dhcpRogue: "find the server that should not be there and switch it off"
        case .routerRogue: "find the router that should not be there and switch off its router advertisements"
        case .hostResources: "raise the limit that the verdict names, or restart the program that uses everything"
        case .firewallLocal: "`nft list ruleset`: check the hooks output and input"
        case .routeNoDefault: "`ip route show default`, then `ip route add default via GATEWAY`"
        case .routeBlackhole: "delete the route that the verdict names (`ip route del`)"
        case .routeDeadTunnel: "restart the VPN, or take its interface down"
        case .routeAsymmetric: "add a rule for each source address (`ip rule add from ADDRESS table TABLE`)"
        case .routeWrongGateway: "use the router that DHCP offers (`ip route replace default via ROUTER`)"
        case .gatewayUnresolved: "check that the router is on, and that its address is the right one"
        case .gatewayARPConflict: "find the other machine that uses the address of the router (a mistake, or an attack)"
        case .gatewayNotForwarding: "restart the router"
        case .captivePortal: "open any http:// page in a browser and log in"
        case .captiveAPI, .pmtuReduced: "nothing"
        case .httpIntercepted: "check for a proxy or filter, or use HTTPS only"
        case .wanDown: "check the modem, then call the provider"
        case .upstreamBlackhole: "report the last router that answers to the provider; `nwpath trace` shows it"
        case .upstreamLoop: "report the looping routers to the provider; `nwpath trace` shows them"
        case .ipv4Broken: "ask the provider, and check the NAT of the router"
        case .ipv6Broken: "ask the provider, or disable IPv6 until it works"
        case .trafficStalled: "check the router, then the modem and the provider"
        case .dnsNoConfig: "check /etc/resolv.conf and the DHCP client"
        case .dnsUnreachable: "try `dig @SERVER example.com`; use another name server"
        case .dnsServerDead: "remove the dead server from the configuration"
        case .dnsServfail: "check the log of the server: it cannot reach other servers, or DNSSEC validation fails"
        case .dnsSlow, .dnsWrongAnswer, .dnsNXRewrite: "use another name server"
        case .dnsAAAATimeout: "use another name server, or `options timeout:1 attempts:1` in /etc/resolv.conf"
        case .dnsTCPBlocked: "open TCP port 53 in the firewall"
        case .transportPortBlocked, .transportPortReset: "ask the operator of the firewall to open the port"
        case .transportUDPBlocked: "ask the operator of the firewall to allow outgoing UDP"
        case .pmtuBlackhole: "clamp the TCP segment size at the router, or let ICMP \"too big\" through"
        case .tlsIntercepted: "check for a proxy that intercepts TLS, and decide whether to trust its authority"
        case .clockSkew: "`timedatectl set-ntp true`, or check the time service: certificates depend on it"
        case .uplinkDown: "check the router and the line of that interface, or take it out of the default route"
        case .proxyUnreachable: "start the proxy, or correct or unset the variable that names it"
        case .proxyFailing: "check the log of the proxy: it gets no answer, or wants a password"
        case .proxyRequired: "nothing; programs need the variable"
        case .targetDown: "contact the operator of that host"
        case .trafficDestinationStalled: "report to the operator of those hosts, after checking the router"
        case .trafficLoss: "check the cable or radio link, then the provider"
        case .performanceLoss: "report it to the provider, with the time of day; `nwpath trace` shows where it begins"
        case .performanceHighLatency: "check for a VPN, a satellite link, or a full queue"
        case .performanceJitter: "check for heavy traffic on the line, or a weak radio link"
        case .performanceBufferbloat: "switch on CAKE or FQ-CoDel at the router"
        case .performanceLowThroughput: "measure again without other traffic, then report it to the provider"
        case .icmpFiltered: "nothing; `ping` is no valid test here"
        case .destinationNoSuchName: "check the spelling, or contact the operator of the domain"
        case .destinationNoAddress: "check the spelling, or ask the operator of the domain to add an A or AAAA record"
        case .destinationUnresolved: "contact the operator of the domain; `nwpath dns` shows the own name servers"
        case .destinationNoRoute: "`ip route get ADDRESS`, then add a route or a default route"
        case .destinationDiscarded: "delete the route that the verdict names (`ip route del`)"
        case .destinationBlocked: "`nft list ruleset`: check the output hook"
        case .destinationUnreachable: "contact the operator of that router, or of the destination"
        case .destinationSilent: "contact the operator: the host is down, or a filter drops packets to it"
        case .destinationPartlySilent: "contact the operator: the name has an address that does not work"
        case .destinationPortClosed: "start the service there, or check the port number"
        case .destinationPortSilent: "ask the operator of the host, or of the firewall in front of it, to open the port"
        case .destinationTLS: "check that the port uses TLS"
        case .destinationCertificate: "check the name, or ask the operator for a certificate of a trusted authority"
        case .destinationCertificateDates: "ask the operator to renew it, and check the clock of this machine"
        case .destinationNoAnswer: "check the service there: it hangs, or uses another protocol"
        case .destinationStatus: "check the URL, or the service there: the network works"
        case .destinationNoUpgrade: "check the path of the URL, and that no proxy removes the Upgrade header"
        case .routeReversePath: "set `net.ipv4.conf.all.rp_filter` to 2 where replies come by another interface"
        case .gatewayBlocksHost:
            "check the router: a filter or parental control for this machine, or a full session table"
        case .gatewayStaticEntry: "`ip neigh del ADDRESS dev INTERFACE`"
        case .upstreamFlowsLost: "report it to the provider: one leg of a bundle or of equal routes is dead"
        case .dnsNotUsed: "add `dns` to the line `hosts:` of /etc/nsswitch.conf"
        case .dnsHostsFile: "correct or remove the line"
        case .dnsSearchDead: "remove the domain from the line `search` of /etc/resolv.conf, or from the DHCP server"
        case .transportTCPBlocked: "check the firewall of the router, then the provider"
        case .transportTLSBlocked: "check for a filter of the router or provider"
        case .transportQUICBlocked: "allow outgoing UDP port 443"
        case .destinationStalled: "check the service: it stops in the middle of a response"
        }
    }

    /// The severity that a verdict of this code has unless it says otherwise.
    package var usualSeverity: Severity {
        switch self {
        case .linkNone, .linkAdminDown, .linkNoCarrier, .linkIsolated, .addressNone, .addressLinkLocalOnly,
            .addressDuplicate, .firewallLocal, .routeNoDefault, .routeBlackhole, .routeDeadTunnel, .routeWrongGateway,
            .gatewayUnresolved, .gatewayNotForwarding, .captivePortal, .wanDown, .upstreamBlackhole, .upstreamLoop,
            .ipv4Broken, .ipv6Broken, .trafficStalled, .dnsNoConfig, .dnsUnreachable, .dnsServfail, .dnsWrongAnswer,
            .transportPortBlocked, .transportPortReset, .pmtuBlackhole, .tlsIntercepted, .destinationNoSuchName,
            .destinationNoAddress, .destinationUnresolved, .destinationNoRoute, .destinationDiscarded,
            .destinationBlocked, .destinationUnreachable, .destinationSilent, .destinationPortClosed,
            .destinationPortSilent, .destinationTLS, .destinationCertificate, .destinationCertificateDates,
            .destinationNoAnswer, .destinationStalled, .destinationStatus, .destinationNoUpgrade, .routeReversePath,
            .gatewayBlocksHost, .gatewayStaticEntry, .dnsNotUsed, .dnsHostsFile, .transportTCPBlocked,
            .transportTLSBlocked, .proxyUnreachable, .proxyFailing:
            .broken
        case .linkFlapping, .linkMTUTooSmall, .linkLoss, .addressDADFailed, .dhcpRogue, .routerRogue, .hostResources,
            .gatewayARPConflict, .dnsServerDead, .dnsSlow, .dnsAAAATimeout, .dnsTCPBlocked, .transportUDPBlocked,
            .clockSkew, .trafficLoss, .performanceLoss, .performanceHighLatency, .performanceBufferbloat,
            .performanceLowThroughput, .destinationPartlySilent, .upstreamFlowsLost, .dnsSearchDead,
            .uplinkDown:
            .degraded
        case .linkErrors, .linkOverruns, .linkDuplex, .linkSpeed, .linkQueueDrops, .linkWeakSignal,
            .linkClientIsolation, .mdnsBlocked, .routeAsymmetric, .httpIntercepted, .dnsNXRewrite, .targetDown,
            .trafficDestinationStalled, .performanceJitter, .transportQUICBlocked:
            .warning
        case .captiveAPI, .pmtuReduced, .icmpFiltered, .proxyRequired: .info
        }
    }

    // MARK: - Masking

    /// Which faults follow from this one, so that they are not reported beside it.
    package var hides: [VerdictCode] { Self.allCases.filter { explains($0) } }

    /// Which faults explain this one, so that it is not reported beside them.
    package var hiddenBy: [VerdictCode] { Self.allCases.filter { $0.explains(self) } }

    private func explains(_ other: VerdictCode) -> Bool {
        guard other != self, other.usualSeverity > .info else { return false }
        return MaskingGraph([usual, other.usual], families: [.ipv4, .ipv6]).cause(of: other.usual) == self
    }

    /// A verdict as it usually is.
    private var usual: Verdict {
        let family: [VerdictCode: AddressFamily] = [.ipv4Broken: .ipv4, .ipv6Broken: .ipv6]
        return Verdict(self, usualSeverity, family: family[self], say: meaning, action: action)
    }
}
