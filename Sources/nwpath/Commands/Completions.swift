// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink
internal import OrderedJSON

/// `nwpath completions`: teaches a shell what can be typed.
struct Completions: Command {
    /// What is printed: a script, or names of this machine, which the scripts ask for.
    enum Wish: String, CaseIterable {
        case bash, zsh, fish, interfaces, monitors
    }

    var wish = Wish.bash

    static let specification = Specification<Completions>(
        "completions",
        "Prints the script that completes commands, options and words in a shell.",
        discussion: """
            The scripts complete names of this machine by asking for interfaces and monitors: one name a line, none \
            where nothing can be asked.
            """,
        examples: [
            CommandExample("nwpath completions bash > /etc/bash_completion.d/nwpath", "for bash"),
            CommandExample("nwpath completions zsh > /usr/local/share/zsh/site-functions/_nwpath", "for zsh"),
            CommandExample("nwpath completions fish > ~/.config/fish/completions/nwpath.fish", "for fish"),
        ],
        arguments: [.positional("SHELL", into: \.wish, .choice, help: "The shell, or what to name.")],
        common: [],
        exits: [ExitNote(.success), ExitNote(.usage)]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        switch wish {
        case .bash: Terminal.print(NWPath.program.completions(for: .bash))
        case .zsh: Terminal.print(NWPath.program.completions(for: .zsh))
        case .fish: Terminal.print(NWPath.program.completions(for: .fish))
        case .interfaces, .monitors: for name in names { Terminal.print(name) }
        }
        return .success
    }

    private var names: [String] {
        guard wish == .monitors else {
            let links = try? LiveKernel().links().values
            return (links ?? []).flatMap(\.names)
        }
        // A key press does not wait for a service that hangs.
        var common = CommonOptions()
        common.timeout = .milliseconds(500)
        guard var connection = try? ServiceConnection(common), let answer = try? connection.get("/api/v1/paths") else {
            return []
        }
        return answer.value.list("paths").map { $0.text("monitor") }
    }
}

extension ArgumentForm where Value == String {
    /// The name of an interface.
    static let interfaceName = naming([.interfaces])
    /// The name of a monitor.
    static let monitorName = naming([.monitors])
    /// What `nwpath check` can look at.
    static let checkedName = naming([.interfaces, .monitors])

    private static func naming(_ wishes: [Completions.Wish]) -> ArgumentForm {
        ArgumentForm("a text", names: wishes.map(\.rawValue), parse: { $0.isEmpty ? nil : $0 })
    }
}
