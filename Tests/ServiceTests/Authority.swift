// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport

/// A certificate authority of a test, its files in a scratch directory.
struct Authority {
    let scratch: Scratch
    let name: String

    /// Makes a key and a certificate that signs others.
    init(_ name: String, in scratch: Scratch) throws {
        self.scratch = scratch
        self.name = name
        try openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "30",
            "-subj",
            "/CN=\(name)",
            "-keyout",
            scratch.file("\(name).key"),
            "-out",
            scratch.file("\(name).pem"),
            "-addext",
            "basicConstraints=critical,CA:TRUE"
        )
    }

    /// The authority's own certificate.
    var file: String { scratch.file("\(name).pem") }

    /// Signs a certificate of a server or a client, `NAME.pem` with `NAME.key`.
    func sign(_ leaf: String, usage: String = "serverAuth") throws {
        try openssl(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            "/CN=\(leaf)",
            "-keyout",
            scratch.file("\(leaf).key"),
            "-out",
            scratch.file("\(leaf).csr")
        )
        try scratch.write(
            "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:192.0.2.2\nextendedKeyUsage=\(usage)\n",
            to: "\(leaf).ext"
        )
        try openssl(
            "x509",
            "-req",
            "-in",
            scratch.file("\(leaf).csr"),
            "-CA",
            file,
            "-CAkey",
            scratch.file("\(name).key"),
            "-CAcreateserial",
            "-days",
            "30",
            "-extfile",
            scratch.file("\(leaf).ext"),
            "-out",
            scratch.file("\(leaf).pem")
        )
        try Command.run(["chmod", "600", scratch.file("\(leaf).key")])
    }

    private func openssl(_ arguments: String...) throws { try Command.run(["openssl"] + arguments) }
}
