// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// When the log begins a new file, and how many old ones stay.
public struct RotationPolicy: Hashable, Sendable {
    /// The smallest size that may be configured: a file must hold more than its opening record.
    public static let smallestSize = 4096

    /// A file that has reached this many bytes is rotated before the next record; `nil` means never by size.
    public var size: Int?
    /// A file this old is rotated before the next record; `nil` means never by age.
    public var age: Duration?
    /// How many rotated files stay, named `.1` (the youngest) and up; 0 keeps none.
    public var keep: Int

    /// Makes a policy; 16 MiB and seven old files by default.
    public init(size: Int? = 16 << 20, age: Duration? = nil, keep: Int = 7) {
        self.size = size.map { max($0, Self.smallestSize) }
        self.age = age
        self.keep = max(0, keep)
    }

    /// No rotation: another program renames the file and requests a reopening.
    public static let external = RotationPolicy(size: nil, age: nil, keep: 0)

    func isDue(size: Int64, age: Duration) -> Bool {
        if let limit = self.size, size >= limit { return true }
        if let limit = self.age, age >= limit { return true }
        return false
    }
}
