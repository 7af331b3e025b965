// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import PeerEngine

@Suite struct ArrivingFileTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func names() throws -> [String] {
        try Command.run(["ls", scratch.path]).split(separator: "\n").map { "\(scratch.path)/\($0)" }
    }

    private func write(_ text: String, to file: ArrivingFile) {
        #expect(unsafe Glibc.write(file.descriptor, text, text.utf8.count) == text.utf8.count)
    }

    @Test func `has no name before it is whole, so nothing stays of a program that ends`() throws {
        let file = try ArrivingFile.make(in: scratch.path)
        write("half", to: file)
        #expect(try names().isEmpty)
        try file.name()
        let path = file.keep()
        #expect(try names() == [path])
        #expect(try Command.run(["sh", "-c", "cat $0; stat -c ' %a' $0", path]) == "half 600\n")
    }

    @Test(arguments: [true, false])
    func `goes when nobody keeps it, and stays when somebody does`(isNamedAtOnce: Bool) throws {
        for isKept in [false, true] {
            var file: ArrivingFile? =
                try isNamedAtOnce ? ArrivingFile(namedIn: scratch.path) : ArrivingFile.make(in: scratch.path)
            try file?.name()
            #expect(try names().count == 1)
            if isKept { #expect(try names() == [file?.keep()]) }
            file = nil
            #expect(try names().count == (isKept ? 1 : 0))
        }
    }

    @Test func `a place where nothing can be made is an error`() {
        #expect(throws: Errno.noEntry) { try ArrivingFile.make(in: "/nonexistent") }
    }
}
