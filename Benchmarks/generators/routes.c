// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// Loads routes, or adds and deletes them, with default-route changes in between.
#include "netlink.h"

#define PER_BATCH 100

static struct batch batch;

static void route(int family, int add, long number, unsigned device) {
    struct rtmsg body = {.rtm_family = (unsigned char)family, .rtm_table = RT_TABLE_MAIN,
                         .rtm_protocol = RTPROT_STATIC, .rtm_type = RTN_UNICAST,
                         .rtm_dst_len = family == AF_INET ? 24 : 64,
                         .rtm_scope = family == AF_INET ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE};
    unsigned char destination[16] = {0x20, 0x01, 0x0d, 0xb8, (unsigned char)(number >> 24),
                                     (unsigned char)(number >> 16), (unsigned char)(number >> 8), (unsigned char)number};
    unsigned v4 = htonl((20u << 24) + ((unsigned)number << 8)); // 20.0.0.0/24 and up
    batch_begin(&batch, add ? RTM_NEWROUTE : RTM_DELROUTE, add ? NLM_F_CREATE | NLM_F_EXCL : 0, &body, sizeof body);
    if (family == AF_INET) batch_attribute(&batch, RTA_DST, &v4, sizeof v4);
    else batch_attribute(&batch, RTA_DST, destination, sizeof destination);
    batch_attribute(&batch, RTA_OIF, &device, sizeof device);
}

static void load(int family, long count, unsigned device) {
    for (long done = 0; done < count; done++) {
        route(family, 1, done, device);
        if ((done + 1) % PER_BATCH == 0) batch_flush(&batch, "load");
    }
    batch_flush(&batch, "load");
}

// Blocks of PER_BATCH additions, then the same deleted. Paced: one change per message; else one block per message.
static void churn(int family, long count, long rate, unsigned device, unsigned uplink, long defaults) {
    long changed = 0;
    char text[INET_ADDRSTRLEN];
    long long start = now_ns();
    for (long done = 0; done < count; done++) {
        long block = done / PER_BATCH;
        route(family, block % 2 == 0, block / 2 * PER_BATCH + done % PER_BATCH, device);
        if (rate > 0) {
            batch_flush(&batch, "churn");
            sleep_until_ns(start + (done + 1) * 1000000000LL / rate);
        } else if ((done + 1) % PER_BATCH == 0) {
            batch_flush(&batch, "churn");
        }
        if (changed < defaults && (done + 1) * defaults >= count * (changed + 1)) {
            batch_flush(&batch, "churn");
            batch_default(&batch, uplink, gateway(changed++, text));
            batch_flush(&batch, "default route");
        }
    }
    batch_flush(&batch, "churn");
    printf("%.6f\n", (double)(now_ns() - start) / 1e9);
}

int main(int count, char **words) {
    if (count == 5 && strcmp(words[1], "load") == 0) {
        batch_open(&batch);
        load(number(words[2], 4, 6) == 6 ? AF_INET6 : AF_INET, number(words[3], 0, 1 << 20), device_index(words[4]));
        return 0;
    }
    if (count == 8 && strcmp(words[1], "churn") == 0) {
        batch_open(&batch);
        churn(number(words[2], 4, 6) == 6 ? AF_INET6 : AF_INET, number(words[3], 0, 10000000),
              number(words[4], 0, 1000000), device_index(words[5]), device_index(words[6]), number(words[7], 0, 10000));
        return 0;
    }
    fprintf(stderr, "usage: routes load 4|6 COUNT DEVICE\n"
                    "       routes churn 4|6 CHANGES RATE DEVICE UPLINK DEFAULTS   (rate 0: full speed)\n");
    return 2;
}
