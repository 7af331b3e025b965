// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import LinuxIO
internal import StatusServer

extension Daemon {
    /// Takes the sockets that the service manager opened, and opens the rest of `listen`.
    ///
    /// Clients that came while the service was down wait in a socket that was handed over; its file is not ours.
    func listen() throws(ServiceError) {
        for socket in HandedSocket.all() { try take(socket) }
        let handed = server.addresses
        for address in configuration.listen where !handed.contains(where: { $0.covers(address) }) {
            do {
                try server.listen(on: address)
            } catch .addressNotAvailable where address.isLocal {
                // A machine without IPv6 has no [::1].
                options.report("not listening on \(address): no interface has this address")
            } catch {
                throw .server(error)
            }
        }
    }

    private func take(_ socket: HandedSocket) throws(ServiceError) {
        do {
            try server.listen(handed: FileDescriptor(owning: socket.descriptor), name: socket.name)
        } catch {
            throw .server(error)
        }
        guard let address = server.addresses.last, !address.isLocal, !configuration.insecure, !configuration.isProtected
        else {
            return
        }
        throw .exposed(address: address.description, name: socket.name)
    }
}

extension ListenAddress {
    /// Whether a socket here takes the connections to `other`: the same address, or the same port of any address.
    func covers(_ other: ListenAddress) -> Bool {
        guard case .tcp(let mine, let port) = self, case .tcp(_, port) = other else { return self == other }
        return self == other || mine.address.isUnspecified
    }
}
