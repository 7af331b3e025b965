// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials

/// A request of a program to a connection; handed over to the thread of its engines.
enum ConnectionRequest: Sendable {
    /// Receives what came, in the parameters of Apple's completions.
    typealias Receipt = @Sendable (Data?, NWConnection.ContentContext?, Bool, NWError?) -> Void

    /// Content to be sent.
    struct Content: Sendable {
        let bytes: Data?
        let context: NWConnection.ContentContext
        let isComplete: Bool
        let completion: NWConnection.SendCompletion
    }

    case send(Content)
    case receive(ReceiveQueue<Receipt>.Request, Receipt)
    case batch([ConnectionRequest])
    /// Reports what was sent so far; nothing when the connection is over.
    case count(@Sendable (TransferCounts?) -> Void)
    case retry
    case skipEndpoint

    /// Whether it only moves content: nothing is opened, so it may be fulfilled in any namespace.
    var isTransfer: Bool {
        switch self {
        case .send, .receive: true
        case .batch(let requests): requests.allSatisfy(\.isTransfer)
        case .count, .retry, .skipEndpoint: false
        }
    }

    /// Completes a request that nobody can fulfil any more.
    func refuse(_ error: NWError, on queue: CallQueue?) {
        let queue = queue ?? CallQueue(.global())
        switch self {
        case .send(let content):
            guard case .contentProcessed(let completion) = content.completion else { return }
            queue.async { completion(error) }
        case .count(let completion): completion(nil)
        case .receive(_, let receipt): queue.async { receipt(nil, nil, false, error) }
        case .batch(let requests): for request in requests { request.refuse(error, on: queue) }
        case .retry, .skipEndpoint: return
        }
    }
}
