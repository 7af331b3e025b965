// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// Compiles the files of the status page in. As resources that SwiftPM embeds they would be array literals in Swift, one
// integer for each byte, which cost 15 s of the compiler.
#include "CStatusPage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char markup[] = {
#embed "page.html"
};
static const unsigned char style[] = {
#embed "page.css"
};
static const unsigned char script[] = {
#embed "text.js" suffix(,)
#embed "headline.js" suffix(,)
#embed "lanes.js" suffix(,)
#embed "traffic.js" suffix(,)
#embed "happened.js" suffix(,)
#embed "nearby.js" suffix(,)
#embed "live.js"
};

const struct nwp_page_part nwp_page_markup = {markup, sizeof markup};
const struct nwp_page_part nwp_page_style = {style, sizeof style};
const struct nwp_page_part nwp_page_script = {script, sizeof script};
