// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Network

/// Programs in the call shapes of articles about Apple's framework, in language mode 5; the first word names one.
@main
struct ArticlePrograms {
    static func main() async {
        setlinebuf(stdout)
        let words = CommandLine.arguments.dropFirst()
        switch words.first {
        case "path-handler": await watchWithHandler()
        case "path-loop": await watchWithLoop()
        case "path-types": await watchTypes()
        case "browse-stream": await browseWithStream(words.last ?? "")
        case "browse-model": await browseWithModel(words.last ?? "")
        case "find-services": find(Array(words.dropFirst()))
        case "publish-service": publish(words.dropFirst().first ?? "", words.last ?? "")
        case "host-messages": await hostMessages(words.dropFirst().first ?? "", words.last ?? "")
        case "exchange-messages":
            await exchangeMessages(words.dropFirst().first ?? "", Array(words.dropFirst(2)))
        case "serve-chat": await serveChat(words.last ?? "")
        case "join-chat":
            let places = Array(words.dropFirst())
            await joinChat(places.first ?? "", places.dropFirst().first ?? "", Array(places.dropFirst(2)))
        case "talk": await talk(words.dropFirst().first ?? "", Array(words.dropFirst(2)))
        case "talk-in-order": await talkInOrder(words.dropFirst().first ?? "", Array(words.dropFirst(2)))
        case "join-room": await joinRoom(words.last ?? "")
        case "open-room": await openRoom(words.last ?? "")
        case "enter-room":
            let places = Array(words.dropFirst())
            await enterRoom(places.first ?? "", places.dropFirst().first ?? "", Array(places.dropFirst(2)))
        default:
            print("usage: ArticlePrograms path-handler|path-loop|path-types|browse-stream TYPE|browse-model TYPE")
            print("       ArticlePrograms find-services TYPE…|publish-service NAME TYPE")
            print("       ArticlePrograms host-messages NAME TYPE|exchange-messages TYPE WORD…")
            print("       ArticlePrograms serve-chat PORT|join-chat HOST PORT LINE…")
            print("       ArticlePrograms talk URL WORD…|talk-in-order URL WORD…")
            print("       ArticlePrograms join-room NAME")
            print("       ArticlePrograms open-room PORT|enter-room URL SUBPROTOCOL WORD…")
            exit(2)
        }
    }

    /// Lets callbacks do the rest, until the test ends the program.
    static func waitForever() async {
        while !Task.isCancelled { try? await Task.sleep(nanoseconds: 1_000_000_000_000) }
    }
}
