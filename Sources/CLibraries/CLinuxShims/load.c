// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include "nwp_load.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

int nwp_load_drop_on_close(int descriptor) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    return setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0 ? -errno : 0;
}

int nwp_tcp_retransmissions(int descriptor) {
    struct tcp_info info;
    memset(&info, 0, sizeof info);
    socklen_t size = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return -errno;
    return (int)info.tcpi_total_retrans;
}

int nwp_load_progress(int descriptor, struct nwp_load_flow *flow) {
    struct tcp_info info;
    memset(&info, 0, sizeof info);
    socklen_t size = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return -errno;
    flow->confirmed = info.tcpi_bytes_acked;
    flow->delivered = (uint64_t)info.tcpi_delivered * info.tcpi_snd_mss;
    flow->arrived = (uint64_t)info.tcpi_data_segs_in * info.tcpi_rcv_mss;
    return 0;
}
