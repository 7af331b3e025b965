// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

enum CompletionShell: String, CaseIterable {
    case bash
    case zsh
    case fish
}

extension Program {
    /// The script that teaches a shell the commands, options and words of this program.
    func completions(for shell: CompletionShell) -> String {
        let table = CompletionTable(self)
        switch shell {
        case .bash: return BashCompletion(table: table).script
        case .zsh: return ZshCompletion(table: table).script
        case .fish: return FishCompletion(table: table).script
        }
    }
}

enum ShellText {
    /// The command that lists names of this machine.
    static func listing(_ program: String, _ words: [String]) -> String {
        words.map { "command \(program) completions \($0) 2>/dev/null" }.joined(separator: "; ")
    }

    /// In single quotes, as POSIX shells read them.
    static func quote(_ text: String) -> String {
        "'" + text.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
    }

    /// In single quotes, as fish reads them.
    static func fish(_ text: String) -> String {
        "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "'"
    }

    /// An alternative of a `case` that is true for an option of a command.
    static func pattern(_ command: String, _ names: [String]) -> String {
        names.map { quote("\(command) \($0)") }.joined(separator: " | ")
    }

    /// The alternatives, in bash and zsh alike, for options whose value comes next; `action` says what to do there.
    static func values(
        _ table: CompletionTable,
        action: (CompletionTable.Option, CompletionTable.Value) -> String
    ) -> String {
        table.contexts.flatMap { context in
            context.options.compactMap { option in
                option.value.map { "    \(pattern(context.command, option.names))) \(action(option, $0)) ;;\n" }
            }
        }.joined()
    }

    /// The lines that find out, in bash and zsh alike, which command `words` name.
    static func search(_ table: CompletionTable, first: Int, array: String, end: String) -> String {
        let groups = table.contexts.filter { $0.isInner && !$0.command.isEmpty }.map(\.command)
        return """
                for ((index = \(first); index < \(end); index++)); do
                    word="${\(array)[index]}"
                    case "$command" in
                    '')
                        case "$word" in
                        \(table.valuedAtStart.joined(separator: " | "))) ((index++)) ;;
                        -*) ;;
                        *) command="$word" ;;
                        esac
                        ;;
                    \(groups.joined(separator: " | "))) command="$command $word" ;;
                    esac
                done

            """
    }
}
