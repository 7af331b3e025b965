// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

struct ZshCompletion {
    let table: CompletionTable

    /// The script, a file `_nwpath` of `$fpath`, or to be sourced.
    var script: String {
        """
        #compdef \(table.name)
        # zsh completion for \(table.name), made by '\(table.name) completions zsh'.
        _\(table.name)() {
            local previous="${words[CURRENT - 1]}" command='' word=''
            local -a candidates
            integer index
        \(ShellText.search(table, first: 2, array: "words", end: "CURRENT"))
            case "$command $previous" in
        \(values)    *)
                case "$command" in
        \(table.contexts.map(context).joined())        esac
                ;;
            esac
            _describe -o '\(table.name)' candidates
        }
        if [[ "${funcstack[1]-}" == _\(table.name) ]]; then
            _\(table.name) "$@"
        else
            compdef _\(table.name) \(table.name)
        fi

        """
    }

    private var values: String {
        ShellText.values(table) { option, value in
            switch value {
            case .text: "_message \(ShellText.quote(option.note)); return"
            case .file: "_files; return"
            case .listings(let words): "candidates=(${(f)\"$(\(ShellText.listing(table.name, words)))\"})"
            case .words(let words): "candidates=(\(words.map(ShellText.quote).joined(separator: " ")))"
            }
        }
    }

    private func context(_ context: CompletionTable.Context) -> String {
        let options = context.options.flatMap { option in
            option.names.map { CompletionTable.Candidate(word: $0, note: option.note) }
        }
        let items = (context.candidates + options).map { item in
            "                \(ShellText.quote("\(item.word):\(item.note)"))\n"
        }
        let files = context.acceptsFiles ? "            _files\n" : ""
        let listing = ShellText.listing(table.name, context.listings)
        let names = context.listings.isEmpty ? "" : "            candidates+=(${(f)\"$(\(listing))\"})\n"
        return """
                    \(ShellText.quote(context.command)))
            \(files)            candidates=(
            \(items.joined())            )
            \(names)            ;;

            """
    }
}
