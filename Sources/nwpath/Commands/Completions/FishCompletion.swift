// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

struct FishCompletion {
    let table: CompletionTable

    /// The script, to be sourced.
    var script: String {
        """
        # fish completion for \(table.name), made by '\(table.name) completions fish'.
        function __\(table.name)_at --description 'Whether the words of a command were typed'
            set -l typed (commandline -opc)
            set -e typed[1]
            set -l found
            set -l skips 0
            for word in $typed
                if test $skips = 1
                    set skips 0
                    continue
                end
                switch $word
                    case \(table.valuedAtStart.joined(separator: " "))
                        set skips 1
                    case '-*'
                    case '*'
                        set -a found $word
                end
            end
            set -l wanted (string split -n -- ' ' $argv[1])
            set -l size (count $wanted)
            if test (count $argv) -gt 1; or test $size = 0
                test (count $found) = $size; or return 1
            end
            test $size = 0; or test "$found[1..$size]" = "$wanted"
        end
        complete -c \(table.name) -f
        \(table.contexts.map(context).joined())
        """
    }

    private func context(_ context: CompletionTable.Context) -> String {
        let words = ShellText.fish(context.command) + (context.isInner ? " exactly" : "")
        let start = "complete -c \(table.name) -n \(ShellText.fish("__\(table.name)_at \(words)"))"
        var lines = context.acceptsFiles ? "\(start) -F\n" : ""
        for candidate in context.candidates {
            lines += "\(start) -a \(ShellText.fish(candidate.word)) -d \(ShellText.fish(candidate.note))\n"
        }
        if !context.listings.isEmpty {
            lines += "\(start) -a \(ShellText.fish("(\(ShellText.listing(table.name, context.listings)))"))\n"
        }
        for option in context.options { lines += "\(start)\(suffix(of: option)) -d \(ShellText.fish(option.note))\n" }
        return lines
    }

    private func suffix(of option: CompletionTable.Option) -> String {
        var text = ""
        for name in option.names {
            text += name.hasPrefix("--") ? " -l \(name.dropFirst(2))" : " -s \(name.dropFirst())"
        }
        switch option.value {
        case nil: break
        case .text: text += " -x"
        case .file: text += " -r -F"
        case .listings(let words): text += " -x -a \(ShellText.fish("(\(ShellText.listing(table.name, words)))"))"
        case .words(let words): text += " -x -a \(ShellText.fish(words.joined(separator: " ")))"
        }
        return text
    }
}
