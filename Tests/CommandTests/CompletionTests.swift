// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import nwpath

/// What somebody typed, and some of what a shell must offer, or must not.
private struct Typed: CustomTestStringConvertible, Sendable {
    let line: String
    let offers: Set<String>
    let withholds: Set<String>

    init(_ line: String, _ offers: Set<String>, not withholds: Set<String> = []) {
        self.line = line
        self.offers = offers
        self.withholds = withholds
    }

    var testDescription: String { line }
}

private let typed = [
    Typed("nwpath ", ["status", "config", "check", "completions", "help"], not: ["show", "path"]),
    Typed("nwpath sta", ["status"], not: ["watch", "services"]),
    Typed("nwpath --socket /tmp/x che", ["check"]),
    Typed("nwpath --js", ["--json"]),
    Typed("nwpath status --m", ["--monitor"], not: ["--json"]),
    Typed("nwpath config ", ["check", "show", "schema"], not: ["status"]),
    Typed("nwpath config show --", ["--effective", "--config", "--json", "--help"], not: ["--socket"]),
    Typed("nwpath log ver", ["verify"]),
    Typed("nwpath check ", ["path", "interface", "service", "traffic", "daemon"], not: ["status"]),
    Typed("nwpath check --warn", ["--warn-expensive", "--warning"], not: ["--critical"]),
    Typed("nwpath completions ", ["bash", "zsh", "fish"]),
    Typed("nwpath services --interface ", ["eth0", "lan"], not: ["status", "--json", "nwpath-completed.yaml"]),
    Typed("nwpath probe --interface e", ["eth0"], not: ["lan", "--interface"]),
    Typed("nwpath interfaces ", ["eth0", "lan"]),
    Typed("nwpath check interface et", ["eth0"], not: ["default"]),
    Typed("nwpath status --monitor ", ["default", "vpn"], not: ["eth0"]),
    Typed("nwpath wait sat", ["satisfied"], not: ["unsatisfied"]),
    Typed("nwpath traffic --a", ["--addresses"], not: ["--json"]),
    Typed("nwpath wait tr", ["traffic"]),
    Typed("nwpath help wa", ["wait", "watch"], not: ["status"]),
    Typed("nwpath serve --config nwpath-compl", ["nwpath-completed.yaml"]),
    Typed("nwpath probe f", ["far"], not: ["status"]),
    Typed("nwpath services --name ", [], not: ["status", "--json", "eth0"]),
]

@Suite(.inNamespace) struct CompletionTests {
    private func file(_ shell: CompletionShell) throws -> (scratch: Scratch, path: String) {
        let scratch = try Scratch()
        _ = try scratch.write("", to: "nwpath-completed.yaml")
        // What the program itself lists is tested apart; here it stands in for a machine with these names.
        let stand =
            "#!/bin/sh\ncase \"$*\" in 'completions interfaces') printf 'eth0\\nlan\\n' ;; "
            + "'completions monitors') printf 'default\\nvpn\\n' ;; 'completions probes') printf 'far\\n' ;; esac\n"
        try Command.run(["chmod", "+x", try scratch.write(stand, to: "nwpath")])
        return (scratch, try scratch.write(NWPath.program.completions(for: shell), to: "_nwpath"))
    }

    private func check(_ words: [String], _ typed: Typed) {
        let offered = Set(words.map { $0.hasSuffix(" ") ? String($0.dropLast()) : $0 })
        #expect(typed.offers.subtracting(offered).isEmpty, "\(offered.sorted())")
        #expect(typed.withholds.isDisjoint(with: offered), "\(offered.sorted())")
    }

    @Test(arguments: typed)
    private func `bash offers what fits`(typed: Typed) throws {
        let (scratch, path) = try file(.bash)
        let script = """
            cd "$0" && PATH="$0:$PATH" && source "$1" || exit
            complete -p nwpath | grep -q -- '-F _nwpath' || exit
            read -ra COMP_WORDS <<<"$2"
            case "$2" in *' ') COMP_WORDS+=('') ;; esac
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _nwpath
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let output = try Command.run(["bash", "--norc", "-c", script, scratch.path, path, typed.line])
        check(output.split(separator: "\n").map(String.init), typed)
    }

    @Test(arguments: typed)
    private func `fish offers what fits`(typed: Typed) throws {
        let (scratch, path) = try file(.fish)
        let script = "cd $argv[1]; set -x PATH $argv[1] $PATH; source $argv[2]; or exit 1; complete -C $argv[3]"
        let words = [
            "env", "HOME=\(scratch.path)", "fish", "--no-config", "-c", script, scratch.path, path, typed.line,
        ]
        let output = try Command.run(words)
        check(output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }, typed)
    }

    @Test(arguments: typed)
    private func `zsh offers what fits`(typed: Typed) throws {
        let (scratch, path) = try file(.zsh)
        // The function is called as the completion system does, with its helpers writing down what they are given.
        let script = """
            cd "$0"
            PATH="$0:$PATH"
            compdef() { :; }
            _describe() { shift 2; print -rl -- ${(@)${(P)1}%%:*}; }
            _files() { print -rl -- *; }
            _message() { :; }
            source "$1" || exit
            words=(${(z)2})
            [[ "$2" == *' ' ]] && words+=('')
            CURRENT=$#words
            _nwpath
            """
        let output = try Command.run(["zsh", "-f", "-c", script, scratch.path, path, typed.line])
        let last = typed.line.split(separator: " ", omittingEmptySubsequences: false).last ?? ""
        check(output.split(separator: "\n").map(String.init).filter { $0.hasPrefix(last) }, typed)
    }

    @Test func `interfaces, monitors and probes of the machine are listed`() async throws {
        let service = try Service()
        try service.connect()
        try Namespace.current.run(["ip", "link", "property", "add", "dev", "eth0", "altname", "uplink0"])
        let interfaces = try await service.tool.run("completions", "interfaces")
        #expect(Set(interfaces.output.split(separator: "\n")).isSuperset(of: ["lo", "eth0", "uplink0", "far"]))
        for names in ["monitors", "probes"] {
            let nothing = try await service.tool.run("completions", names)
            #expect(nothing.status == 0 && nothing.output == "" && nothing.messages == "", "no service, no complaint")
        }
        try service.scratch.write("probes:\n  active:\n    far: {target: 192.0.2.7}\n", to: "nwpath.yaml")
        try await service.start()
        let monitors = try await service.tool.run("completions", "monitors")
        #expect(monitors.output == "default\n", "\(monitors.messages)")
        #expect(try await service.tool.run("completions", "probes").output == "far\n")
    }

    @Test(arguments: CompletionShell.allCases)
    func `a shell finds no mistake in its script`(shell: CompletionShell) throws {
        let (scratch, path) = try file(shell)
        #expect(try Command.run([shell.rawValue, "-n", path]) == "")
        withExtendedLifetime(scratch) {}
    }

    @Test func `zsh loads the script as a function of its completion system`() throws {
        let (scratch, _) = try file(.zsh)
        let script = """
            fpath=("$0" $fpath)
            autoload -Uz compinit && compinit -u -d "$0/dump"
            print -r -- $_comps[nwpath]
            """
        #expect(try Command.run(["zsh", "-f", "-c", script, scratch.path]) == "_nwpath\n")
    }

    @Test(arguments: CompletionShell.allCases)
    func `the program prints the script with every command and option`(shell: CompletionShell) throws {
        let text = try Command.run([try Tool.program, "completions", shell.rawValue])
        #expect(text == NWPath.program.completions(for: shell))
        for command in NWPath.program.commands {
            #expect(text.contains(command.name), "\(command.name)")
            for name in (command.arguments + command.commonArguments).flatMap(\.names) {
                let word =
                    shell == .fish
                    ? (name.hasPrefix("--") ? "-l \(name.dropFirst(2))" : "-s \(name.dropFirst())") : name
                #expect(text.contains(word), "\(name)")
            }
        }
    }

    @Test(
        arguments: [("a", "'a'", "'a'"), ("it's", #"'it'\''s'"#, #"'it\'s'"#), (#"a\b"#, #"'a\b'"#, #"'a\\b'"#)]
    )
    func `texts are quoted as shells read them`(text: String, posix: String, fish: String) throws {
        #expect(ShellText.quote(text) == posix)
        #expect(ShellText.fish(text) == fish)
        #expect(try Command.run(["bash", "-c", "printf %s \(posix)"]) == text)
        #expect(try Command.run(["fish", "--no-config", "-c", "printf %s \(fish)"]) == text)
    }
}
