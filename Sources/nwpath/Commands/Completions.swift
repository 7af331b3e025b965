// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CommandLineKit

/// `nwpath completions`: teaches a shell what can be typed.
struct Completions: Command {
    var shell = CompletionShell.bash

    static let specification = Specification<Completions>(
        "completions",
        "Prints the script that completes commands, options and words in a shell.",
        examples: [
            CommandExample("nwpath completions bash > /etc/bash_completion.d/nwpath", "for bash"),
            CommandExample("nwpath completions zsh > /usr/local/share/zsh/site-functions/_nwpath", "for zsh"),
            CommandExample("nwpath completions fish > ~/.config/fish/completions/nwpath.fish", "for fish"),
        ],
        arguments: [.positional("SHELL", into: \.shell, .choice, help: "The shell.")],
        common: [],
        exits: [ExitNote(.success), ExitNote(.usage)]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        Terminal.print(NWPath.program.completions(for: shell))
        return .success
    }
}
