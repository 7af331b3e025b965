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
        \(table.places.map(place).joined())        esac
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

    private func place(_ place: CompletionTable.Place) -> String {
        let options = place.options.flatMap { option in
            option.names.map { CompletionTable.Candidate(word: $0, note: option.note) }
        }
        let items = (place.candidates + options).map { item in
            "                \(ShellText.quote("\(item.word):\(item.note)"))\n"
        }
        let files = place.takesFiles ? "            _files\n" : ""
        let listing = ShellText.listing(table.name, place.listings)
        let names = place.listings.isEmpty ? "" : "            candidates+=(${(f)\"$(\(listing))\"})\n"
        return """
                    \(ShellText.quote(place.command)))
            \(files)            candidates=(
            \(items.joined())            )
            \(names)            ;;

            """
    }
}
