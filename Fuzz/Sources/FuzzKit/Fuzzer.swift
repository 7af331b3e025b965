// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import CFuzzer
import Glibc

/// Hands the process to libFuzzer.
public enum Fuzzer {
    /// What is called with each input; a C function, so it captures nothing.
    public typealias Body = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

    /// Reads libFuzzer's options from the command line and runs `body` until they say stop.
    public static func run(_ body: @escaping Body) -> Never {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv
        unsafe exit(LLVMFuzzerRunDriver(&count, &arguments, body))
    }

    /// How many packets inputs were read as.
    nonisolated(unsafe) private static var packets = 0

    /// Counts a packet; how many there were is told with libFuzzer's figures at the end.
    public static func countPacket() {
        if unsafe packets == 0 { atexit { Fuzzer.tellPackets() } }
        unsafe packets += 1
    }

    private static func tellPackets() {
        let line = Array(unsafe "stat::packets_received:     \(packets)\n".utf8)
        unsafe write(STDERR_FILENO, line, line.count)
    }

    /// The descriptor of a new file in memory, for machines that read files; it costs no disk.
    public static func makeMemoryFile() -> Int32 { fuzz_memory_file() }
}

/// Ends the run with a message, as a crash that libFuzzer keeps the input of.
public func require(_ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String) {
    if !condition() { fatalError(message()) }
}
