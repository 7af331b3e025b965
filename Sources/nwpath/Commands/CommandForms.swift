// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import OrderedJSON

/// What commands print with `--json` that the service does not publish, in the order of their names.
package enum CommandForms {
    package static var all: [Form] {
        [
            AdvertiseLine.members.form,
            ProbeReport.attempt,
            BrowseLine.form,
            ReportContents.form,
            DirectCensus.form,
            CodeDocument.one.form,
            CodeDocument.list.form,
            ConfigCheck.members.form,
            LogVerify.members.form,
            Page.form,
            ResolveRun.form,
            ProbeReport.summary.form,
            TraceDocument.form,
            Version.form,
            Wait.members.form,
            WhyDocument.form,
        ]
    }
}
