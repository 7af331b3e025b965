// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import FoundationEssentials

extension NWConnection {
    /// Sends content: bytes of a stream, or a datagram.
    ///
    /// Content is sent in the order of the calls, and waits until the connection is ready. A datagram that is not
    /// complete waits for the rest of its context. Complete content of a final context closes this direction of TCP;
    /// it may have no bytes.
    public func send(
        content: Data?,
        contentContext: ContentContext = .defaultMessage,
        isComplete: Bool = true,
        completion: SendCompletion
    ) {
        submit(
            .send(
                ConnectionRequest.Content(
                    bytes: content,
                    context: contentContext,
                    isComplete: isComplete,
                    completion: completion
                )
            )
        )
    }

    /// Sends content of any type that has bytes.
    public func send<Content: DataProtocol>(
        content: Content?,
        contentContext: ContentContext = .defaultMessage,
        isComplete: Bool = true,
        completion: SendCompletion
    ) {
        send(
            content: content.map { Data($0) },
            contentContext: contentContext,
            isComplete: isComplete,
            completion: completion
        )
    }

    /// Receives once there are `minimumIncompleteLength` bytes, or the stream or message is complete; at most
    /// `maximumLength` bytes.
    ///
    /// The completion is called exactly once. At the end of a stream the content is what was left, or `nil`, and
    /// `isComplete` is true; from then on receives end with `ENODATA`. Nothing is read while nobody receives.
    @preconcurrency public func receive(
        minimumIncompleteLength: Int,
        maximumLength: Int,
        completion:
            @escaping @Sendable (
                _ content: Data?, _ contentContext: ContentContext?, _ isComplete: Bool, _ error: NWError?
            ) -> Void
    ) {
        submit(.receive(.init(minimum: minimumIncompleteLength, maximum: maximumLength), completion))
    }

    /// Receives a whole message: a datagram, or all of a stream to its end.
    ///
    /// The completion is called exactly once; an empty datagram has content without bytes.
    @preconcurrency public func receiveMessage(
        completion:
            @escaping @Sendable (
                _ completeContent: Data?, _ contentContext: ContentContext?, _ isComplete: Bool, _ error: NWError?
            ) -> Void
    ) {
        submit(.receive(.message, completion))
    }

    /// As ``receive(minimumIncompleteLength:maximumLength:completion:)``, with content for which no copy in one piece is
    /// promised.
    @preconcurrency public func receiveDiscontiguous(
        minimumIncompleteLength: Int,
        maximumLength: Int,
        completion:
            @escaping @Sendable (
                _ content: DispatchData?, _ contentContext: ContentContext?, _ isComplete: Bool, _ error: NWError?
            ) -> Void
    ) {
        receive(minimumIncompleteLength: minimumIncompleteLength, maximumLength: maximumLength) {
            content,
            context,
            isComplete,
            error in
            completion(content.map(Self.dispatchData), context, isComplete, error)
        }
    }

    /// As ``receiveMessage(completion:)``, with content for which no copy in one piece is promised.
    @preconcurrency public func receiveMessageDiscontiguous(
        completion:
            @escaping @Sendable (
                _ completeContent: DispatchData?, _ contentContext: ContentContext?, _ isComplete: Bool,
                _ error: NWError?
            ) -> Void
    ) {
        receiveMessage { content, context, isComplete, error in
            completion(content.map(Self.dispatchData), context, isComplete, error)
        }
    }

    private static func dispatchData(_ content: Data) -> DispatchData {
        unsafe content.withUnsafeBytes { unsafe DispatchData(bytes: $0) }
    }
}
