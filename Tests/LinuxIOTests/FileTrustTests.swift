// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import LinuxIO

/// Who may have prepared what, from what fstat(2) says.
@Suite struct FileTrustTests {
    private typealias Facts = FileTrust.Facts

    private let trust = FileTrust(user: 1000)
    /// As in `unshare -rn`: this user is root, and the machine's root is nobody known.
    private let mapped = FileTrust(user: 0, hasUnmappedOwners: true)

    @Test(arguments: [
        (Facts(.directory, owner: 0, mode: 0o755), false), (Facts(.directory, owner: 1000, mode: 0o700), false),
        (Facts(.directory, owner: 0, mode: 0o1777), true), (Facts(.directory, owner: 0, mode: 0o777), true),
        (Facts(.directory, owner: 0, mode: 0o775), true), (Facts(.directory, owner: 7, mode: 0o755), true),
        (Facts(.directory, owner: 65534, mode: 0o755), true),
    ])
    private func `a directory is open when others can change what is in it`(directory: Facts, isOpen: Bool) {
        #expect(trust.isOpen(directory) == isOpen)
    }

    @Test func `an unmapped owner's directory is like root's, and what unmapped owners made is nobody's`() {
        let root = Facts(.directory, owner: 65534, mode: 0o755)
        let tmp = Facts(.directory, owner: 65534, mode: 0o1777)
        #expect(!mapped.isOpen(root) && mapped.isOpen(tmp))
        #expect(mapped.refusal(entering: root, in: root) == nil)
        #expect(mapped.refusal(entering: root, in: tmp) == .foreignDirectory(owner: 65534))
        #expect(mapped.refusal(entering: Facts(.directory, owner: 0, mode: 0o755), in: tmp) == nil)
        let file = Facts(.regular, owner: 65534, mode: 0o644)
        #expect(mapped.refusal(opening: file, in: tmp, for: .log) == .foreignFile(owner: 65534))
        #expect(FileTrust.isPartial(uidMap: "         0       1000          1\n"))
        #expect(!FileTrust.isPartial(uidMap: "         0          0 4294967295\n") && !FileTrust.isPartial(uidMap: ""))
    }

    @Test func `directories and links on a path`() {
        let shared = Facts(.directory, owner: 0, mode: 0o1777)
        let closed = Facts(.directory, owner: 0, mode: 0o755)
        let sevens = Facts(.directory, owner: 7, mode: 0o755)
        func refusal(_ kind: Facts.Kind, of owner: UInt32, in directory: Facts) -> FileRefusal.Cause? {
            trust.refusal(entering: Facts(kind, owner: owner, mode: 0o755), in: directory)
        }
        for owner: UInt32 in [0, 1000] {
            for place in [shared, closed, sevens] {
                #expect(refusal(.directory, of: owner, in: place) == nil && refusal(.link, of: owner, in: place) == nil)
            }
        }
        #expect(refusal(.directory, of: 7, in: closed) == nil && refusal(.link, of: 7, in: closed) == nil)
        #expect(refusal(.directory, of: 7, in: shared) == .foreignDirectory(owner: 7))
        #expect(refusal(.link, of: 7, in: shared) == .foreignLink(owner: 7))
        #expect(refusal(.directory, of: 7, in: sevens) == nil)
        #expect(refusal(.directory, of: 8, in: sevens) == .foreignDirectory(owner: 8))
        #expect(refusal(.link, of: 7, in: sevens) == .foreignLink(owner: 7))
    }

    @Test func `files`() {
        let shared = Facts(.directory, owner: 0, mode: 0o1777)
        let closed = Facts(.directory, owner: 0, mode: 0o755)
        func refusal(_ file: Facts, in directory: Facts, _ purpose: FileTrust.Purpose = .log) -> FileRefusal.Cause? {
            trust.refusal(opening: file, in: directory, for: purpose)
        }
        #expect(refusal(Facts(.regular, owner: 1000, mode: 0o640), in: shared) == nil)
        #expect(refusal(Facts(.regular, owner: 7, mode: 0o640), in: shared) == .foreignFile(owner: 7))
        #expect(refusal(Facts(.regular, owner: 7, mode: 0o660), in: closed) == nil)
        #expect(refusal(Facts(.regular, owner: 1000, mode: 0o640, links: 2), in: shared) == .hardLinked)
        #expect(refusal(Facts(.regular, owner: 1000, mode: 0o640, links: 2), in: closed) == nil)
        #expect(refusal(Facts(.regular, owner: 1000, mode: 0o666), in: closed) == .writable(mode: 0o666))
        #expect(refusal(Facts(.regular, owner: 1000, mode: 0o640), in: closed, .secret) == .exposed(mode: 0o640))
        #expect(refusal(Facts(.regular, owner: 1000, mode: 0o600), in: closed, .secret) == nil)
        for purpose in [FileTrust.Purpose.log, .output] {
            #expect(refusal(Facts(.link, owner: 1000, mode: 0o777), in: shared, purpose) == .link)
            #expect(refusal(Facts(.link, owner: 7, mode: 0o777), in: closed, purpose) == nil)
        }
        #expect(refusal(Facts(.link, owner: 1000, mode: 0o777), in: closed, .state) == .failed(Errno(ELOOP)))
        #expect(refusal(Facts(.other, owner: 0, mode: 0o666), in: closed, .output) == nil)
        #expect(refusal(Facts(.other, owner: 0, mode: 0o666), in: closed) == .notRegular)
        #expect(refusal(Facts(.other, owner: 0, mode: 0o666), in: shared, .output) == .notRegular)
        #expect(refusal(Facts(.directory, owner: 0, mode: 0o755), in: closed) == .failed(Errno(EISDIR)))
    }
}
