// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

@Suite(.inNamespace) struct ExplainTests {
    @Test func `a code is explained, for people and for programs`() async throws {
        let tool = Tool(scratch: try Scratch())
        let text = try await tool.run("diagnose", "--explain", "upstream.loop")
        #expect(text.status == 0 && text.messages.isEmpty)
        let code = VerdictCode.upstreamLoop
        for words in [code.meaning, code.test, code.action, "broken as a rule", "docs/diagnosis.md", "traffic.stalled"]
        {
            #expect(text.output.contains(words), "\(words)\n\(text.output)")
        }
        let object = try await tool.run("diagnose", "--explain", "dns.slow", "--json").json
        #expect(object.text("code") == "dns.slow" && object.text("message") == VerdictCode.dnsSlow.meaning)
        #expect(object.texts("hides") == ["destination.unresolved"])
        #expect(object.texts("hidden_by").contains("wan.down"))
    }

    @Test func `all codes are listed`() async throws {
        let tool = Tool(scratch: try Scratch())
        let text = try await tool.run("diagnose", "--explain", "list")
        let object = try await tool.run("diagnose", "--explain", "list", "--json").json
        #expect(text.status == 0 && text.output.split(separator: "\n").count == VerdictCode.allCases.count + 1)
        #expect(object.list("codes").map { $0.text("code") } == VerdictCode.allCases.map(\.rawValue))
    }

    @Test func `an unknown code is one error with the nearest spelling`() async throws {
        let tool = Tool(scratch: try Scratch())
        let result = try await tool.run("diagnose", "--explain", "wan.dwon")
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.messages.split(separator: "\n").count == 1)
        #expect(result.messages.contains("(did you mean 'wan.down'?)"))
        #expect(try await tool.run("diagnose", "example.test", "--explain", "wan.down").status == 2)
        #expect(try await tool.run("diagnose", "--explain").status == 2)
    }

    @Test func `completions offer the codes, help does not list them`() async throws {
        let tool = Tool(scratch: try Scratch())
        let bash = try await tool.run("completions", "bash").output
        let help = try await tool.run("diagnose", "--help").output
        for code in VerdictCode.allCases { #expect(bash.contains(" \(code.rawValue)"), "\(code)") }
        #expect(!help.contains("link.no-carrier"))
    }
}
