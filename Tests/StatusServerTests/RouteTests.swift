// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

@Suite(.inNamespace) struct RouteTests {
    @Test(arguments: [
        ("/api/v1/status", "{\"path\":\n{\"status\":\"satisfied\"}}\n"),
        ("/api/v1/paths", "{\"paths\":[]}\n"),
        ("/api/v1/paths/default", "{\"name\":\"default\"}\n"),
        ("/api/v1/paths/default/satisfied", "true\n"),
        ("/api/v1/online", "true\n"),
        ("/api/v1/interfaces", "{\"interfaces\":[]}\n"),
        ("/api/v1/interfaces/eth0", "{\"name\":\"eth0\"}\n"),
        ("/api/v1/gateways", "{\"gateways\":[]}\n"),
        ("/api/v1/dns", "{\"dns\":{}}\n"),
        ("/api/v1/diagnosis", "{\"verdicts\":[]}\n"),
        ("/api/v1/probes", "{\"probes\":[]}\n"),
        ("/api/v1/probes/web", "{\"name\":\"web\"}\n"),
        ("/api/v1/services", "{\"services\":[]}\n"),
        ("/api/v1/services?interface=eth0&type=_ipp._tcp", "{\"few\":1}\n"),
        ("/api/v1/services/types", "{\"types\":[]}\n"),
        ("/api/v1/services/history?name=x*", "{\"past\":1}\n"),
        ("/api/v1/sd/prometheus?type=_a._tcp", "[]\n"),
        ("/api/v1/sd/prometheus?type=_a._tcp,_b._UDP&name=n&family=ipv6&interface=eth0", "[1]\n"),
        ("/api/v1/services/_ipp._tcp/B%C3%BCro%2F1", "{\"name\":\"Büro/1\"}\n"),
        ("/api/v1/schema/event.json", "{\"$schema\":\"x\"}\n"),
        ("/api/v1/config", "{\"listen\":[]}\n"),
        ("/api/v1/history?since=2h", "{\"seconds\":7200,\"monitor\":\"(headline)\"}\n"),
        ("/api/v1/history?since=2h&until=30m", "{\"seconds\":5400,\"monitor\":\"(headline)\"}\n"),
        ("/api/v1/history?monitor=wired", "{\"seconds\":86400,\"monitor\":\"wired\"}\n"),
        ("/-/healthy", "ok\n"),
        ("/-/ready", "ok\n"),
        ("http://localhost:8353/-/ready", "ok\n"),
    ])
    func `answers every route over both sockets`(target: String, body: String) async throws {
        let fixture = try ServerFixture()
        for overTCP in [false, true] {
            let response = try await fixture.get(target, overTCP: overTCP)
            #expect(response.status == 200)
            #expect(response.body == body)
        }
    }

    @Test(arguments: [
        ("/api/v1/paths/nope", 404, "/problems/unknown-monitor"),
        ("/api/v1/paths/nope/satisfied", 404, "/problems/unknown-monitor"),
        ("/api/v1/history?monitor=nope", 404, "/problems/unknown-monitor"),
        ("/api/v1/interfaces/nope", 404, "/problems/unknown-interface"),
        ("/api/v1/services/_ipp._tcp/nope", 404, "/problems/unknown-service"),
        ("/api/v1/probes/nope", 404, "/problems/unknown-probe"),
        ("/api/v1/services?name=x", 503, "/problems/not-ready"),
        ("/api/v1/status?wait=soon", 400, "/problems/bad-parameter"),
        ("/api/v1/status?wait=61s", 400, "/problems/bad-parameter"),
        ("/api/v1/status?wiat=1s", 400, "did you mean 'wait'?"),
        ("/api/v1/services?type=a&type=b", 400, "given twice"),
        ("/api/v1/services?typ=a", 400, "did you mean 'type'?"),
        ("/api/v1/services/types?type=a", 400, "/problems/bad-parameter"),
        ("/api/v1/sd/prometheus", 400, "'type' is missing; expected a type such as _prometheus-http._tcp"),
        ("/api/v1/sd/prometheus?type=", 400, "/problems/bad-parameter"),
        ("/api/v1/sd/prometheus?type=http", 400, "/problems/bad-parameter"),
        ("/api/v1/sd/prometheus?type=_._tcp", 400, "/problems/bad-parameter"),
        ("/api/v1/sd/prometheus?type=_a._tcp,", 400, "/problems/bad-parameter"),
        ("/api/v1/sd/prometheus?type=_a._sctp", 400, "/problems/bad-parameter"),
        ("/api/v1/sd/prometheus?type=_a._tcp&family=inet", 400, "expected ipv4 or ipv6"),
        ("/api/v1/sd/prometheus?type=_a._tcp&port=1", 400, "/problems/bad-parameter"),
        ("/api/v1/history?since=yesterday", 400, "/problems/bad-parameter"),
        ("/api/v1/history?since=1h&until=2h", 400, "/problems/bad-parameter"),
        ("/api/v1/history?until=tomorrow", 400, "/problems/bad-parameter"),
        ("/api/v1/history?since=2999-01-01T00:00:00Z", 400, "/problems/bad-parameter"),
        ("/api/v1/online?strict=1", 400, "takes none"),
        ("/metrics?x=1", 400, "takes none"),
        ("/-/healthy?x", 400, "takes none"),
        ("//", 404, "about:blank"),
        ("/api/v1/paths/", 404, "about:blank"),
        ("/api/v1//status", 404, "about:blank"),
        ("/api/v1/status/../config", 404, "about:blank"),
        ("/%2e%2e/%2e%2e/etc/passwd", 404, "about:blank"),
        ("/api/v1/%zz", 400, "about:blank"),
        ("/api/v1/status?a=%4", 400, "about:blank"),
        ("/%00", 400, "about:blank"),
        ("/%ff", 400, "about:blank"),
    ])
    func `explains what it cannot answer`(target: String, status: Int, word: String) async throws {
        let fixture = try ServerFixture()
        let response = try await fixture.get(target)
        #expect(response.status == status)
        #expect(response.fields["content-type"] == "application/problem+json")
        #expect(response.body.contains(word), "\(response.body)")
        #expect(response.body.contains("\"status\":\(status)"))
    }

    @Test func `answers an unsatisfied path with 503 and Retry-After`() async throws {
        let response = try await ServerFixture().get("/api/v1/paths/wired/satisfied")
        #expect(response.status == 503)
        #expect(response.body == "false\n")
        #expect(response.fields["retry-after"] == "5")
    }

    @Test func `gives the reason when it is not ready`() async throws {
        let fixture = try ServerFixture()
        fixture.provider.readiness = .notReady(reason: "the first dump is not read")
        let response = try await fixture.get("/-/ready")
        #expect(response.status == 503)
        #expect(response.body.contains("the first dump is not read"))
        #expect(response.fields["retry-after"] == "1")
        let healthy = try await fixture.get("/-/healthy")
        #expect(healthy.status == 200)
    }

    @Test func `answers an inner failure with an instance that the journal gets`() async throws {
        let fixture = try ServerFixture()
        fixture.provider.failure = Breakdown()
        let response = try await fixture.get("/api/v1/status")
        #expect(response.status == 500)
        let instance = try #require(fixture.provider.failures.first)
        #expect(response.body.contains("\"instance\":\"\(instance)\""))
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "BREW"])
    func `names the allowed methods`(method: String) async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        client.send("\(method) /api/v1/status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        let response = try await client.response()
        #expect(response.status == 405)
        #expect(response.fields["allow"] == "GET, HEAD, OPTIONS")
    }

    /// What HAProxy's `option httpchk` sends, and other load balancers.
    @Test(arguments: ["/", "/-/healthy", "/-/ready", "/metrics", "/api/v1/paths/nope/satisfied"])
    func `answers OPTIONS with the methods, whatever the state`(target: String) async throws {
        let fixture = try ServerFixture()
        fixture.provider.health = .notReady(reason: "the log is gone")
        let old = try fixture.tcpClient()
        old.send("OPTIONS \(target) HTTP/1.0\r\n\r\n")
        let check = try await old.response()
        #expect(check.status == 204 && check.fields["allow"] == "GET, HEAD, OPTIONS" && check.body.isEmpty)
        let client = try fixture.tcpClient()
        client.send("OPTIONS \(target) HTTP/1.1\r\nHost: localhost\r\n\r\nGET /-/ready HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await client.response().status == 204)
        #expect(try await client.response().status == 421)
        let stranger = try fixture.tcpClient()
        stranger.send("OPTIONS \(target) HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        #expect(try await stranger.response().status == 421)
        let pattern = target == "/api/v1/paths/nope/satisfied" ? "/api/v1/paths/{monitor}/satisfied" : target
        #expect(
            fixture.metrics.contains(
                "nwpath_http_requests_total{handler=\"\(pattern)\",method=\"OPTIONS\",code=\"204\"} 2"
            )
        )
    }

    @Test(arguments: [
        "/api/v1/status", "/api/v1/paths/default/satisfied", "/api/v1/online", "/-/ready", "/metrics",
        "/api/v1/events",
    ])
    func `answers HEAD like GET without content`(target: String) async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        client.send("HEAD \(target) HTTP/1.1\r\nHost: localhost\r\n\r\nGET /-/ready HTTP/1.1\r\nHost: a\r\n\r\n")
        let head = try await client.response(headOnly: true)
        #expect(head.status == 200)
        let next = try await client.response()
        #expect(next.body == "ok\n")
    }

    @Test func `reloads for root through the unix socket only`() async throws {
        let fixture = try ServerFixture()
        let request = "POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
        let near = try fixture.client()
        near.send(request)
        let allowed = try await near.response()
        #expect(allowed.status == 200)
        #expect(allowed.body == "{\"changed\":[]}\n")
        let far = try fixture.tcpClient()
        far.send(request)
        let refused = try await far.response()
        #expect(refused.status == 403)
        #expect(refused.body.contains("/problems/unauthorized"))
        #expect(fixture.provider.reloads == 1)
        let get = try await fixture.get("/-/reload")
        #expect(get.status == 405)
        #expect(get.fields["allow"] == "POST")
    }

    @Test func `says where a new configuration is wrong`() async throws {
        let fixture = try ServerFixture()
        let detail = "nwpath.yaml:12:5: unknown key 'reqired'"
        fixture.provider.failure = Problem(.configInvalid, status: 400, detail: detail)
        let client = try fixture.client()
        client.send("POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nnow")
        let response = try await client.response()
        #expect(response.status == 400)
        #expect(response.body.contains(detail))
    }

    @Test(arguments: [
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        ("Accept: */*\r\n", "text/plain; version=0.0.4; charset=utf-8"),
        ("Accept: image/png\r\n", "text/plain; version=0.0.4; charset=utf-8"),
        (
            "Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n",
            "application/openmetrics-text; version=1.0.0; charset=utf-8"
        ),
    ])
    func `gives metrics in the form the scraper likes`(fields: String, type: String) async throws {
        let fixture = try ServerFixture()
        let first = try await fixture.get("/api/v1/status")
        #expect(first.status == 200)
        let response = try await fixture.get("/metrics", fields: fields)
        #expect(response.fields["content-type"] == type)
        #expect(
            response.body.contains(
                "nwpath_http_requests_total{handler=\"/api/v1/status\",method=\"GET\",code=\"200\"} 1"
            )
        )
        #expect(response.body.hasSuffix("# EOF\n") == type.hasPrefix("application"))
    }
}
