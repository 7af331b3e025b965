// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Python with the packages of the tests, in `.build/venv`.
public enum PythonEnvironment {
    private static let root = String(#filePath.dropLast("/Tests/TestSupport/PythonEnvironment.swift".count))

    /// Its interpreter; the environment is made where `make` has not done so.
    public static let python = Result {
        let venv = root + "/.build/venv"
        let packages =
            "import dbus_next, jsonschema, prometheus_client, selenium, axe_core_python, openapi_spec_validator, "
            + "schemathesis, websockets, zeroconf"
        let script =
            "mkdir -p \(root)/.build; exec 9>\(venv).lock; flock 9; "
            + "test -x \(venv)/bin/python || python3 -m venv \(venv); "
            + "\(venv)/bin/python -c '\(packages)' 2>/dev/null "
            + "|| \(venv)/bin/pip install -q -r \(root)/Tests/requirements.txt"
        try Command.run(["sh", "-c", script])
        return venv + "/bin/python"
    }
}
