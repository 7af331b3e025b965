// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON

/// `nwpath interfaces`: the interfaces, and what keeps them from carrying traffic.
struct Interfaces: Command {
    var name: String?
    var showsAll = false

    static let specification = Specification<Interfaces>(
        "interfaces",
        "Lists the interfaces, and why any of them cannot carry traffic.",
        discussion: "Without a service the kernel is read.",
        examples: [
            CommandExample("nwpath interfaces", "all but ignored ones"),
            CommandExample("nwpath interfaces eth0", "everything about one"),
        ],
        arguments: [
            .positional("NAME", into: \.name, .interfaceName, help: "Show this interface only."),
            .flag("--all", into: \.showsAll, help: "Also show ignored ones."),
        ],
        exits: ServiceExits.all + [ExitNote(.negative, "there is no such interface")]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var source = try StatusReader(common)
            let target = "/api/v1/interfaces" + (name.map { "/\(RequestText.encode($0))" } ?? "")
            let answer = try source.read(target) { kernel throws(CommandFailure) in
                if let name { try kernel.interface(name) } else { try kernel.interfaces }
            }
            let screen = Screen(common)
            let text = InterfaceText(renderer: TextRenderer(screen, now: KernelClock().wall))
            if name != nil {
                common.isJSON ? try screen.print(answer) : Terminal.print(text.detail(answer.value))
            } else if showsAll && common.isJSON {
                try screen.print(answer)
            } else {
                let shown = showsAll ? answer.value : Self.withoutIgnored(answer.value)
                common.isJSON ? try screen.print(shown) : Terminal.print(text.list(shown.list("interfaces")))
            }
            return .success
        }
    }

    /// The same object without the interfaces that the operator ignores.
    static func withoutIgnored(_ answer: JSONValue) -> JSONValue {
        guard var object = answer.object else { return answer }
        object["interfaces"] = .array(answer.list("interfaces").filter { !$0.isTrue("ignored") })
        return .object(object)
    }
}
