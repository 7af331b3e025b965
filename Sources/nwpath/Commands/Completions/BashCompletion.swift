// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

struct BashCompletion {
    let table: CompletionTable

    /// The script, to be sourced.
    var script: String {
        """
        # bash completion for \(table.name), made by '\(table.name) completions bash'.
        _\(table.name)() {
            local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}"
            local command='' word='' words='' index
            COMPREPLY=()
        \(ShellText.search(table, first: 1, array: "COMP_WORDS", end: "COMP_CWORD"))
            case "$command $previous" in
        \(values)    *)
                case "$command" in
        \(table.contexts.map(context).joined())        *) return ;;
                esac
                ;;
            esac
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$words" -- "$current")
            if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
        }
        complete -F _\(table.name) \(table.name)

        """
    }

    private static let files = "mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
    private static let asFiles = "compopt -o filenames 2>/dev/null"

    private var values: String {
        ShellText.values(table) { _, value in
            switch value {
            case .text: "return"
            case .file: "\(Self.asFiles); \(Self.files); return"
            case .listings(let words): "words=\"$(\(ShellText.listing(table.name, words)))\""
            case .words(let words): "words=\(ShellText.quote(words.joined(separator: " ")))"
            }
        }
    }

    private func context(_ context: CompletionTable.Context) -> String {
        let words = context.candidates.map(\.word) + context.options.flatMap(\.names)
        let files = context.acceptsFiles ? "\(Self.asFiles); \(Self.files); " : ""
        let text = ShellText.quote(words.joined(separator: " "))
        let names = context.listings.isEmpty ? "" : "\"$(\(ShellText.listing(table.name, context.listings)))\"' '"
        return "        \(ShellText.quote(context.command))) \(files)words=\(names)\(text) ;;\n"
    }
}
