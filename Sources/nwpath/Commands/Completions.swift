// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink
internal import OrderedJSON

/// `nwpath completions`: teaches a shell what can be typed.
struct Completions: Command {
    /// What is printed: a script, or names of this machine, which the scripts ask for.
    enum Topic: String, CaseIterable {
        case bash, zsh, fish, interfaces, monitors, probes
    }

    var topic = Topic.bash

    static let specification = Specification<Completions>(
        "completions",
        "Prints the script that completes commands, options and words in a shell.",
        discussion: """
            The scripts complete names of this machine with interfaces, monitors and probes: one name a line, none \
            where the service cannot be reached.
            """,
        examples: [
            CommandExample("nwpath completions bash > /etc/bash_completion.d/nwpath", "for bash"),
            CommandExample("nwpath completions zsh > /usr/local/share/zsh/site-functions/_nwpath", "for zsh"),
            CommandExample("nwpath completions fish > ~/.config/fish/completions/nwpath.fish", "for fish"),
        ],
        arguments: [.positional("SHELL", into: \.topic, .choice, help: "The shell, or what to name.")],
        common: [],
        exits: [ExitNote(.success), ExitNote(.usage)]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        switch topic {
        case .bash: Terminal.print(NWPath.program.completions(for: .bash))
        case .zsh: Terminal.print(NWPath.program.completions(for: .zsh))
        case .fish: Terminal.print(NWPath.program.completions(for: .fish))
        case .interfaces, .monitors, .probes: for name in names { Terminal.print(name) }
        }
        return .success
    }

    private var names: [String] {
        guard topic != .interfaces else {
            let links = try? LiveKernel().links().values
            return (links ?? []).flatMap(\.names)
        }
        // A key press does not wait for a service that hangs.
        var common = CommonOptions()
        common.timeout = .milliseconds(500)
        let route = topic == .probes ? "/api/v1/probes" : "/api/v1/paths"
        guard var connection = try? ServiceConnection(common), let answer = try? connection.get(route) else {
            return []
        }
        if topic == .probes { return answer.value.list("probes").map { $0.text("name") } }
        return answer.value.list("paths").map { $0.text("monitor") }
    }
}

extension ArgumentForm where Value == String {
    /// The name of an interface.
    static let interfaceName = naming([.interfaces])
    /// The name of a monitor.
    static let monitorName = naming([.monitors])
    /// The name of a probe.
    static let probeName = naming([.probes])
    /// What `nwpath check` can look at.
    static let checkedName = naming([.interfaces, .monitors])

    private static func naming(_ topics: [Completions.Topic]) -> ArgumentForm {
        ArgumentForm("a text", names: topics.map(\.rawValue), parse: { $0.isEmpty ? nil : $0 })
    }
}
