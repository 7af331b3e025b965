// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import ServiceSupport
import TestSupport
import Testing

/// A machine on a small network where the examples of the manual do what they say: a router that also is a name server,
/// a web server and a host with printers (avahi-daemon), another daemon at 192.0.2.7, and files of the names that the
/// examples use.
///
/// Programs see their own `/etc`, `/run`, `/usr/local/share`, `/var/lib` and `/var/log`, which are gone with this value.
final class ExampleWorld {
    let scratch: Scratch
    private let far: Namespace
    private let room: RunningCommand
    private var others: [RunningCommand] = []
    private(set) var multicastPeer: AvahiPeer?

    /// The services on the network, by type and name.
    static let services = [
        ("_ipp._tcp", "Office Printer"), ("_ipp._tcp", "Hall Printer"), ("_ssh._tcp", "Shell"), ("_http._tcp", "Pages"),
        ("_smb._tcp", "Files"),
    ]

    private static let configuration = """
        diagnosis:
          anchors: [{name: a, host: example.test, addr4: 192.0.2.2}]
          nq: {download: "http://example.test/large", upload: "http://example.test/large", max_bytes: 1000000, max_seconds: 1}
          budgets: {rtt_ms: 5000, jitter_ms: 5000, loss_pct: 50, rpm: 1}
        probes:
          active: {gateway: {target: gateway, interval: 60s}}
        """

    /// Pages of `example.test` on ports 80 and 443, and a port 22 that takes connections.
    private static let server = """
        import http.server, socket, socketserver, ssl, sys, threading
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_GET(self):
                body = bytes(2000000 if self.path == "/large" else 0)
                self.send_response(204 if self.path == "/generate_204" else 200)
                challenge = self.headers["X-NWPath-Challenge"]
                if challenge: self.send_header("X-NWPath-Response", "response " + challenge)
                if self.path != "/generate_204": self.send_header("Content-Length", str(len(body)))
                self.end_headers(); self.wfile.write(body)
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
            do_PUT = do_POST
            def log_message(self, *words): pass
        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            def handle_error(self, *words): pass
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain("pem", "key")
        secure = Server(("0.0.0.0", 443), Handler)
        secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=secure.serve_forever, daemon=True).start()
        shell = socket.create_server(("0.0.0.0", 22))
        Server(("0.0.0.0", 80), Handler).serve_forever()
        """

    /// Makes the network and the files, and starts what others run on it.
    init() async throws {
        scratch = try Scratch()
        far = try Namespace()
        let near = Namespace.current
        try near.connect("eth0", to: far, as: "eth1")
        try near.ipBatch([
            "address add 192.0.2.10/24 dev eth0", "address add 169.254.7.9/16 dev eth0",
            "address add 2001:db8::10/64 dev eth0 nodad", "route add default via 192.0.2.1",
            "route add default via 2001:db8::1",
        ])
        let ends = [1, 2, 7, 53].map { "address add 192.0.2.\($0)/24 dev eth1" }
        try far.ipBatch(ends + ["address add 169.254.7.1/16 dev eth1", "address add 2001:db8::1/64 dev eth1 nodad"])
        try near.waitForAddresses(on: "eth0")
        try far.waitForAddresses(on: "eth1")
        for folder in ["home/.config/fish/completions", "work", "etc", "bin", "far"] {
            try Command.run(["mkdir", "-p", scratch.file(folder)])
        }
        try Command.run(["ln", "-s", try Tool.program, scratch.file("bin/nwpath")])
        try Command.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
                + ["-keyout", scratch.file("key"), "-out", scratch.file("pem"), "-subj", "/CN=x", "-days", "2"]
                + ["-addext", "subjectAltName=DNS:example.test"]
        )
        _ = try scratch.write(Self.configuration, to: "nwpath.yaml")
        room = try RunningCommand(["unshare", "--mount", "sh", "-ec", Self.furnish, "sh", scratch.path])
        let scratch = scratch
        await near.loop.eventually(within: .seconds(30), "the room") { scratch.read("furnished") == "yes\n" }
        try await populate()
    }

    /// Lays out what the machine has; the shell stays, so that the mounts do.
    private static let furnish = """
        mount -t tmpfs none "$1/etc"
        cp -a /etc/. "$1/etc" 2>/dev/null || true
        mount --bind "$1/etc" /etc
        for folder in /run /usr/local/share /var/lib /var/log; do mount -t tmpfs none $folder; done
        mkdir -p /run/nwpath /var/log/nwpath /var/lib/nwpath /var/lib/prometheus/node-exporter /etc/nwpath \\
            /etc/bash_completion.d /usr/local/share/zsh/site-functions
        rm -f /etc/resolv.conf; printf "nameserver 192.0.2.53\\nsearch example.test\\n" > /etc/resolv.conf
        cat "$1/pem" >> /etc/ssl/certs/ca-certificates.crt
        cp "$1/nwpath.yaml" /etc/nwpath/nwpath.yaml
        echo yes > "$1/furnished"
        exec sleep infinity
        """

    private func populate() async throws {
        let beyond = ["nsenter", "--net=\(far.path)", "env", "-C", scratch.path]
        others.append(
            try RunningCommand(
                beyond + ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"]
                    + [
                        "--listen-address=192.0.2.53", "--bind-interfaces", "--user=root", "--group=root",
                        "--pid-file=",
                    ]
                    + ["example.test", "example.com"].map { "--address=/\($0)/192.0.2.2" }
            )
        )
        others.append(try RunningCommand(beyond + ["python3", "-c", Self.server]))
        _ = try scratch.write("{listen: [192.0.2.7:8353], insecure: true}", to: "far/nwpath.yaml")
        let daemon = [
            "serve", "--config", "far/nwpath.yaml", "--log-file", "far/log", "--state-dir", "far", "--no-mdns",
        ]
        others.append(try RunningCommand(beyond + [try Tool.program] + daemon))
        let avahi = try await AvahiPeer(in: far, hostName: "printer", interface: "eth1")
        for (type, name) in Self.services { others.append(try avahi.publish(name, type, 631, [])) }
        multicastPeer = avahi
        let far = far
        for port in [22, 53, 80, 443, 8353] {
            try await Namespace.current.loop.eventually(within: .seconds(30), "port \(port)") {
                try far.run("ss -Hltn sport = :\(port)").contains(":\(port)")
            }
        }
    }

    /// Writes the files that examples read, of a daemon that runs: its log in two parts, targets, a recording.
    func layOutFiles() async throws {
        let done = try await run(
            """
            cp \(ManualPage.root)/Tests/ReplayTests/Fixtures/admin-down.rec outage.rec
            cp /etc/nwpath/nwpath.yaml .
            sed -n '/^  anchors/,/^  budgets/s/^  //p' nwpath.yaml > targets.yaml
            cd /var/log/nwpath && mv events.jsonl events.jsonl.1
            kill -USR1 $(nwpath status --json | jq .daemon.pid)
            until [ -s events.jsonl ]; do sleep 0.05; done
            cp events.jsonl* "$OLDPWD" && gzip "$OLDPWD/events.jsonl.1"
            """
        )
        #expect(done.status == 0, "\(done.messages)")
    }

    /// Starts a line of shell on the machine, in the folder that the reader is in.
    func start(_ line: String) throws -> RunningCommand {
        let inside = ["nsenter", "--mount=/proc/\(room.processID)/ns/mnt", "env", "-i"]
        let path = "PATH=\(scratch.file("bin")):/usr/sbin:/usr/bin:/sbin:/bin"
        let script = "cd \(scratch.file("work")) && \(line)"
        return try RunningCommand(inside + [path, "HOME=\(scratch.file("home"))", "sh", "-c", script])
    }

    /// A line that runs beside the test.
    struct Beginning {
        let line: String
        let name: String
        let isEndless: Bool
        let command: RunningCommand
    }

    /// Starts a line whose result is asked for later; an endless one goes on until Ctrl-C, which comes when it has
    /// printed something.
    func begin(_ line: String, isEndless: Bool = false) throws -> Beginning {
        let name = "run-\(UInt64.random(in: 0...UInt64.max))"
        let whole = scratch.file(name)
        let outputs = ">\(whole).out 2>\(whole).err"
        let finite = "{ \(line)\n} \(outputs); echo $? >\(whole).rc"
        let command = try start(isEndless ? "exec \(line) \(outputs)" : finite)
        return Beginning(line: line, name: name, isEndless: isEndless, command: command)
    }

    /// Waits for the end of a line.
    func end(_ run: Beginning) async -> Result {
        let scratch = scratch
        let name = run.name
        let awaited = run.isEndless ? ["out", "err"] : ["rc"]
        let hasEnded = await Namespace.current.loop.eventually(within: .seconds(60), "\(awaited) of \(run.line)") {
            awaited.contains { scratch.read("\(name).\($0)").hasSuffix("\n") }
        }
        if !hasEnded { run.command.killGroup() } else if run.isEndless { run.command.signal(SIGINT) }
        let status = run.command.wait()
        return Result(
            status: run.isEndless ? status : Int32(scratch.read("\(name).rc").dropLast()) ?? -1,
            output: LiveJSON.check(scratch.read("\(name).out"), by: .command),
            messages: scratch.read("\(name).err")
        )
    }

    /// Runs a line of shell to its end.
    func run(_ line: String) async throws -> Result { await end(try begin(line)) }
}
