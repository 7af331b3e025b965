// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

@Suite struct ReloadSentenceTests {
    @Test(
        arguments: [
            ([], [], "configuration reloaded: nothing changed"),
            (["log.level", "ignore"], [], "configuration reloaded; changed: log.level, ignore"),
            (["listen"], ["listen"], "configuration reloaded; restart the service for: listen"),
            (
                ["listen", "ignore"], ["listen"],
                "configuration reloaded; changed: ignore; restart the service for: listen"
            ),
        ] as [([String], [String], String)]
    )
    func `one line says what changed`(changed: [String], later: [String], sentence: String) {
        var answer = JSONObject()
        answer["changed"] = .array(changed.map { .string($0) })
        answer["restart_needed"] = .array(later.map { .string($0) })
        #expect(Reload.sentence(.object(answer)) == sentence)
    }
}

@Suite(.inNamespace) struct ReloadTests {
    @Test func `a running service takes the file, and refuses a wrong one`() async throws {
        let service = try Service()
        try await service.start()
        let same = try await service.ask("reload")
        #expect(same.status == 0 && same.output == "configuration reloaded: nothing changed\n")

        let file = try service.scratch.write("log:\n  level: debug\nmdns:\n  max_types: 7\n", to: "nwpath.yaml")
        let changed = try await service.ask("reload")
        let sentence = "configuration reloaded; changed: log.level; restart the service for: mdns.max_types\n"
        #expect(changed.status == 0 && changed.output == sentence, "\(changed)")
        let json = try await service.ask("reload", "--json").json
        #expect(json["changed"]?.array == [.string("mdns.max_types")])
        #expect(json.texts("restart_needed") == ["mdns.max_types"])
        #expect(try await service.ask("reload", "-q").output == "")

        _ = try service.scratch.write("log:\n  levle: debug\n", to: "nwpath.yaml")
        let wrong = try await service.ask("reload")
        #expect(wrong.status == 1 && wrong.output == "")
        #expect(wrong.messages.hasPrefix("nwpath: \(file):2:3: unknown key 'levle'"), "\(wrong)")
        #expect(wrong.messages.hasSuffix("\nthe previous configuration stays in use\n"))
    }

    @Test func `who may not reload reads who may`() async throws {
        let scratch = try Scratch()
        let server = try CannedServer(scratch, answer: CannedServer.problem("403 Forbidden", "This is for root."))
        var tool = Tool(scratch: scratch)
        tool.readsForeign = true
        let result = try await tool.run("reload", "--socket", server.path)
        #expect(result.status == 5 && result.output == "")
        let advice = "become root (`sudo nwpath reload`), or give --token-file"
        #expect(result.messages == "nwpath: the service refused (403): This is for root.\n\(advice)\n")
    }
}
