// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CSystemd
internal import Glibc
public import LinuxIO

/// One connection to a message bus, served by an event loop; it connects again by itself and never blocks.
///
/// Confined to the loop's thread. A bus that is missing, hangs or vanishes shows as ``isReady`` being `false`, and as
/// calls that fail in time (rule S51).
@safe public final class BusConnection {
    public struct Timing: Sendable {
        public var limit: Duration
        /// How long to wait before the first attempt to connect again; doubled up to ``longestPause``.
        public var shortestPause: Duration
        /// The longest wait between two attempts.
        public var longestPause: Duration

        /// One second for a call, one to thirty seconds between attempts.
        public init(
            limit: Duration = .seconds(1),
            shortestPause: Duration = .seconds(1),
            longestPause: Duration = .seconds(30)
        ) {
            self.limit = limit
            self.shortestPause = shortestPause
            self.longestPause = longestPause
        }
    }

    /// The address of the system's bus: `DBUS_SYSTEM_BUS_ADDRESS`, or the well-known socket.
    public static var systemAddress: String {
        guard let text = unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS") else {
            return "unix:path=/run/dbus/system_bus_socket"
        }
        return unsafe String(cString: text)
    }

    public let timing: Timing
    public private(set) var isReady = false
    /// Why the bus was left or not reached the last time.
    public private(set) var lastError: ProviderError?

    let loop: EventLoop
    private let address: String
    private var bus: OpaquePointer?
    private var filter: OpaquePointer?
    private var registration: EventLoop.Registration?
    private var registered: (descriptor: Int32, events: Int32) = (-1, 0)
    private var timer: (deadline: UInt64, timer: EventLoop.Timer)?
    private var retry: EventLoop.Timer?
    private var pause: Duration
    private var isProcessing = false
    private var pending: [UInt64: PendingCall] = [:]
    private var lastCall: UInt64 = 0
    private var listeners: [any BusListener] = []

    /// Prepares a connection; ``start()`` makes it.
    public init(loop: EventLoop, address: String = BusConnection.systemAddress, timing: Timing = Timing()) {
        self.loop = loop
        self.address = address
        self.timing = timing
        pause = timing.shortestPause
    }

    deinit {
        for call in pending.values { unsafe sd_bus_slot_unref(call.slot) }
        unsafe sd_bus_slot_unref(filter)
        unsafe sd_bus_close_unref(bus)
    }

    /// Begins to connect; the listeners are called when that is done.
    public func start() {
        guard unsafe bus == nil, retry == nil else { return }
        connect()
    }

    /// Leaves the bus; pending calls fail with ``ProviderError/disconnected``.
    public func stop() {
        if let retry { loop.cancel(retry) }
        retry = nil
        close(.disconnected)
        pause = timing.shortestPause
    }

    /// Registers a listener for connection changes and signals.
    func add(_ listener: any BusListener) {
        listeners.append(listener)
        if isReady { listener.busDidConnect() }
    }

    /// Calls a method with text arguments; the service is never started by that.
    ///
    /// `completion` is called exactly once, later, with the values of the answer.
    public func call(
        _ method: BusMethod,
        _ arguments: [String] = [],
        completion: @escaping (Result<[BusValue], ProviderError>) -> Void
    ) {
        call(method, values: arguments.map(BusArgument.text), completion: completion)
    }

    /// The same with arguments of other types.
    func call(
        _ method: BusMethod,
        values arguments: [BusArgument],
        completion: @escaping (Result<[BusValue], ProviderError>) -> Void
    ) {
        guard isReady, let bus = unsafe bus else { return refuse(.disconnected, completion) }
        var message: OpaquePointer?
        var code = unsafe sd_bus_message_new_method_call(
            bus,
            &message,
            method.destination,
            method.path,
            method.interface,
            method.member
        )
        defer { unsafe sd_bus_message_unref(message) }
        if code >= 0 { code = unsafe sd_bus_message_set_auto_start(message, 0) }
        for argument in arguments where code >= 0 {
            code = unsafe argument.append(to: message)
        }
        guard code >= 0 else { return refuse(.system(call: method.member, code: Errno(code)), completion) }
        lastCall += 1
        let call = PendingCall(connection: self, id: lastCall, completion: completion)
        let microseconds = UInt64(max(timing.limit.nanoseconds / 1000, 1))
        code = unsafe sd_bus_call_async(
            bus,
            &call.slot,
            message,
            receiveReply,
            Unmanaged.passUnretained(call).toOpaque(),
            microseconds
        )
        guard code >= 0 else { return refuse(.system(call: method.member, code: Errno(code)), completion) }
        pending[lastCall] = call
        arm()
    }

    private func refuse(
        _ error: ProviderError,
        _ completion: @escaping (Result<[BusValue], ProviderError>) -> Void
    ) {
        loop.schedule(after: .zero) { completion(.failure(error)) }
    }
}

// MARK: - Coming and going

extension BusConnection {
    private func connect() {
        retry = nil
        var bus: OpaquePointer?
        var code = unsafe sd_bus_new(&bus)
        if code >= 0 { code = unsafe sd_bus_set_address(bus, address) }
        if code >= 0 { code = unsafe sd_bus_set_bus_client(bus, 1) }
        if code >= 0 {
            code = unsafe sd_bus_add_filter(bus, &filter, receiveMessage, Unmanaged.passUnretained(self).toOpaque())
        }
        if code >= 0 { code = unsafe sd_bus_start(bus) }
        unsafe self.bus = bus
        guard code >= 0 else { return fail(.system(call: "sd_bus_start", code: Errno(code))) }
        retry = loop.schedule(after: timing.limit) { [weak self] in self?.giveUpConnecting() }
        arm()
    }

    private func giveUpConnecting() {
        retry = nil
        if !isReady { fail(.timedOut) }
    }

    /// Leaves the bus and tries again after a pause.
    private func fail(_ error: ProviderError) {
        lastError = error
        if let retry { loop.cancel(retry) }
        retry = loop.schedule(after: pause) { [weak self] in self?.connect() }
        pause = min(pause * 2, timing.longestPause)
        close(error)
    }

    private func close(_ error: ProviderError) {
        if let registration { loop.unregister(registration) }
        registration = nil
        registered = (-1, 0)
        if let timer { loop.cancel(timer.timer) }
        timer = nil
        let calls = pending
        pending = [:]
        for call in calls.values { call.release() }
        unsafe sd_bus_slot_unref(filter)
        unsafe filter = nil
        unsafe sd_bus_close_unref(bus)
        unsafe bus = nil
        let wasReady = isReady
        isReady = false
        for id in calls.keys.sorted() { calls[id]?.completion(.failure(error)) }
        if wasReady { for listener in listeners { listener.busDidDisconnect(error) } }
    }

    private func becomeReady() {
        isReady = true
        if let retry { loop.cancel(retry) }
        retry = nil
        pause = timing.shortestPause
        for listener in listeners { listener.busDidConnect() }
    }
}

// MARK: - Serving the descriptor

extension BusConnection {
    /// Lets sd-bus work, for a bounded number of messages, then waits for more.
    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        var rounds = 0
        var code: Int32 = 0
        while let current = unsafe bus, rounds < 64 {
            code = unsafe sd_bus_process(current, nil)
            guard code > 0 else { break }
            rounds += 1
        }
        isProcessing = false
        guard let bus = unsafe bus else { return }
        if code < 0 { return fail(.system(call: "sd_bus_process", code: Errno(code))) }
        guard unsafe sd_bus_is_open(bus) > 0 else { return fail(.disconnected) }
        if !isReady, unsafe sd_bus_is_ready(bus) > 0 { becomeReady() }
        arm()
    }

    private func arm() {
        guard !isProcessing, let bus = unsafe bus else { return }
        let descriptor = unsafe sd_bus_get_fd(bus)
        let events = unsafe sd_bus_get_events(bus)
        guard descriptor >= 0, events >= 0 else { return fail(.disconnected) }
        do throws(Errno) {
            try register(descriptor, events)
        } catch {
            return fail(.system(call: "epoll_ctl", code: error))
        }
        var deadline = UInt64.max
        _ = unsafe sd_bus_get_timeout(bus, &deadline)
        guard deadline != timer?.deadline ?? .max else { return }
        if let timer { loop.cancel(timer.timer) }
        timer = nil
        guard deadline != .max else { return }
        // sd-bus counts microseconds of CLOCK_MONOTONIC.
        let left = Duration.microseconds(Int64(clamping: deadline)) - loop.clock.awake
        let next = loop.schedule(after: max(left, .zero)) { [weak self] in
            self?.timer = nil
            self?.process()
        }
        timer = (deadline, next)
    }

    private func register(_ descriptor: Int32, _ events: Int32) throws(Errno) {
        // POLLIN and POLLOUT have the values of EPOLLIN and EPOLLOUT.
        let interest = EventLoop.Interest(rawValue: UInt32(events))
        if let registration, registered.descriptor == descriptor {
            guard registered.events != events else { return }
            try loop.change(registration, to: interest)
        } else {
            if let registration { loop.unregister(registration) }
            registration = nil
            registration = try loop.register(descriptor, for: interest) { [weak self] _ in self?.process() }
        }
        registered = (descriptor, events)
    }

    fileprivate func finish(_ id: UInt64, with message: OpaquePointer) {
        guard let call = pending.removeValue(forKey: id) else { return }
        call.release()
        var reader = unsafe BusReader(message)
        if let name = reader.errorName {
            let isLate = name == "org.freedesktop.DBus.Error.NoReply" || name == "org.freedesktop.DBus.Error.Timeout"
            return call.completion(.failure(isLate ? .timedOut : .refused(name: name)))
        }
        do throws(ProviderError) {
            call.completion(.success(try reader.readAll()))
        } catch {
            call.completion(.failure(error))
        }
    }

    fileprivate func receive(_ message: OpaquePointer) {
        guard var signal = unsafe BusSignal(header: message) else { return }
        let interested = listeners.filter { $0.wants(signal) }
        guard !interested.isEmpty else { return }
        var reader = unsafe BusReader(message)
        // A malformed signal is dropped; the next check of its service will.
        guard let arguments = try? reader.readAll() else { return }
        signal.arguments = arguments
        for listener in interested { listener.receive(signal) }
    }
}

@safe private final class PendingCall {
    let connection: BusConnection
    let id: UInt64
    let completion: (Result<[BusValue], ProviderError>) -> Void
    var slot: OpaquePointer?

    init(
        connection: BusConnection,
        id: UInt64,
        completion: @escaping (Result<[BusValue], ProviderError>) -> Void
    ) {
        self.connection = connection
        self.id = id
        self.completion = completion
    }

    /// Lets go of the slot: sd-bus will not call back any more.
    func release() {
        unsafe sd_bus_slot_unref(slot)
        unsafe slot = nil
    }
}

private let receiveReply: sd_bus_message_handler_t = { message, context, _ in
    guard let message = unsafe message, let context = unsafe context else { return 0 }
    let call = unsafe Unmanaged<PendingCall>.fromOpaque(context).takeUnretainedValue()
    unsafe call.connection.finish(call.id, with: message)
    return 1
}

private let receiveMessage: sd_bus_message_handler_t = { message, context, _ in
    guard let message = unsafe message, let context = unsafe context else { return 0 }
    unsafe Unmanaged<BusConnection>.fromOpaque(context).takeUnretainedValue().receive(message)
    return 0
}

/// An argument of a method of a service.
enum BusArgument {
    /// `s`.
    case text(String)
    /// `i`.
    case int32(Int32)
    /// `t`.
    case uint64(UInt64)

    /// - Returns: A negative errno where it cannot be appended.
    fileprivate func append(to message: OpaquePointer?) -> Int32 {
        switch self {
        case .text(let text):
            unsafe text.withCString { unsafe sd_bus_message_append_basic(message, Self.type("s"), $0) }
        case .int32(var number): unsafe sd_bus_message_append_basic(message, Self.type("i"), &number)
        case .uint64(var number): unsafe sd_bus_message_append_basic(message, Self.type("t"), &number)
        }
    }

    private static func type(_ letter: Unicode.Scalar) -> CChar { CChar(bitPattern: UInt8(ascii: letter)) }
}
