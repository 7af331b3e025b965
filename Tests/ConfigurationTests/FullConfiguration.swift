// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A configuration that says something about every key.
let fullConfiguration = """
    # every key
    listen: [unix:/run/nwpath/api.sock, "127.0.0.1:9000", "[::1]:9000", "192.0.2.1:8353"]
    hosts: [nas.example.test, edge-17]
    insecure: true
    embed_badge: true
    tls_server_config:
      cert_file: /etc/nwpath/tls.pem
      key_file: /etc/nwpath/tls.key
      client_ca_file: /etc/nwpath/clients.pem
      client_auth_type: VerifyClientCertIfGiven
      min_version: TLS13
    basic_auth_users:
      ada: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW
    token_file: /etc/nwpath/token
    state_dir: /srv/nwpath
    log:
      file: /srv/nwpath/events.jsonl
      level: debug
      max_size: 10MiB
      max_age: 1d
      keep: 9
    debounce:
      quiet: 250ms
      cap: 2s
    audit_interval: 0
    recovery_hold: 5s
    connectivity:
      check: public
    probes:
      ipv4: [192.0.2.1, 198.51.100.1]
      ipv6: ["2001:db8::1"]
      active:
        gateway: {target: gateway, interval: 10s, timeout: 1s, threshold: 2, interface: eth0, mark: 7, uid: 1000}
        portal:
          method: http
          target: http://probe.example.test/generate_204
          expect_status: [204]
          ca: /etc/nwpath/ca.pem
          family: ipv4
        names: {method: dns, target: example.test, server: "192.0.2.53:53", record: AAAA, transport: tcp}
    ignore:
      - docker*
      - veth*
    interfaces:
      eth0: {required: true, expensive: false}
      "wwan*":
        type: cellular
        expensive: true
        constrained: true
        ultra_constrained: false
    monitors:
      wired:
        required_type: wiredEthernet
      free:
        prohibited_types: [cellular, other]
    views:
      vpn:
        mark: 0xca6c
      lte:
        oif: wwan0
        uid: 1000
    gateway_liveness:
      enabled: true
      strict: true
      interval: 10s
    dns:
      resolv_conf: /run/resolv.conf
    providers:
      networkmanager: false
      resolved: false
      modemmanager: false
      nl80211: false
      ethtool: false
    wifi:
      redact: true
    require_vpn: true
    mdns:
      enabled: true
      census_interval: 5m
      interfaces: [eth*]
      watched: [_ipp._tcp/Office Printer, _ssh._tcp]
      advertise:
        - name: "Büro: Dr. No's"
          type: _http._tcp
          port: 8080
          txt: {path: /start, empty: "", flag: }
          subtypes: [_printer]
          interfaces: [eth0]
        - type: _prometheus-http._tcp
          port: 8353
      max_types: 10
    diagnosis:
      enabled: false
      interval: 5m
      anchors:
        - {name: a, host: a.anchor.test, addr4: 203.0.113.80, addr6: "2001:db8:ff::80"}
        - {name: b, addr4: 203.0.113.81}
      http_path: /hello
      http_port: 8080
      https_port: 8443
      udp_echo_port: 7007
      dns: {wildcard: p.anchor.test, wildcard_a: 203.0.113.80, nx_zone: nx.anchor.test, big_txt: big.anchor.test}
      ntp: [203.0.113.123]
      ca: /etc/nwpath/ca.pem
      nq:
        download: "https://a.anchor.test/large"
        upload: "https://a.anchor.test/slurp"
        small: "https://a.anchor.test/small"
        max_bytes: 6000000
        max_seconds: 6
      peers: [10.77.0.20]
      budgets: {rtt_ms: 200, jitter_ms: 12.5, loss_pct: 1, down_mbps: 1.0, up_mbps: 0.25, rpm: 100}
    traffic:
      enabled: false
    limits:
      max_connections: 100
      max_streams: 10
      header_timeout: 3s
      idle_timeout: 30s
      max_header_size: 16KiB

    """
