// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_STATUS_PAGE_H
#define NWP_STATUS_PAGE_H

#include <stddef.h>

/// A part of the status page, as its file has it.
struct nwp_page_part {
    const unsigned char *bytes;
    size_t count;
};

/// The markup; the style and the script replace the elements that name them.
extern const struct nwp_page_part nwp_page_markup;
extern const struct nwp_page_part nwp_page_style;
/// All scripts, one after the other.
extern const struct nwp_page_part nwp_page_script;

#endif
