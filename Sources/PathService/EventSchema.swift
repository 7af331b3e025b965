// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The JSON Schema of events, compiled in from its file.
enum EventSchema {
    static let bytes: [UInt8] = PackageResources.event_json
}
